//! The catalogue of Stamps.

use axum::response::Response;
use http::StatusCode;
use pyxis_core::catalogue::{CatalogueStamp, Group, Platform};
use pyxis_scoring::icon;
use pyxis_scoring::service::Error as Service;
use pyxis_scoring::service::catalogue::{self, Catalogue};
use pyxis_scoring::service::own_stamps::{self, ALLOW_LIST, OwnStamp};
use sha2::{Digest, Sha256};

use super::agents::unprocessable;
use super::list_query::{ListQuery, ListSlot};
use super::scoring::{A_KEY, problem};
use super::table::{By, Table};
use crate::error::html;
use crate::form::{Fields, Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::{ScoringManager, SignedIn};
use crate::view::Problems;
use crate::view::catalogue::{CataloguePage, IssuedStampLine, PlatformForm, PlatformLine, PlatformPage};
use crate::{Error, State, text};

const HERE: &str = "/app/catalogue";

pub(crate) async fn page(
    Page { state, who: ScoringManager(who, scoring), query: asked }: Page<ScoringManager, ListQuery>,
) -> Result<Response, Error> {
    let Catalogue { own, platforms } = catalogue::get(&scoring.store, who.person.workspace()).await?;
    let stamps: usize = platforms.iter().flat_map(|p| &p.groups).map(|group| group.stamps.len()).sum();
    let base = &state.gateway.config.base_url;
    let lines: Vec<_> =
        platforms.iter().map(line).filter(|line| asked.fits(searchable_texts(line))).collect();
    if let Some(file) = TABLE.file(&asked, &lines) {
        return Ok(file);
    }
    let (lines, search) = TABLE.page(HERE, &asked, lines);
    html(&CataloguePage {
        shell: who.shell(&state).await?,
        own,
        summary: format!(
            "{} with {}",
            text::count_noun(platforms.len() as u64, "platform"),
            text::count_noun(stamps as u64, "Stamp")
        ),
        ask: format!("curl {base}/v2/stamps/metadata \\\n  -H 'X-API-KEY: {A_KEY}'"),
        search,
        platforms: lines,
        issued: issued(own_stamps::list(&scoring.store, who.person.workspace()).await?),
    })
}

/// The Stamps that the workspace issues itself.
fn issued(rows: Vec<OwnStamp>) -> Vec<IssuedStampLine> {
    let line = |OwnStamp { name, kind, description }| IssuedStampLine {
        name: name.to_string(),
        kind: if kind == ALLOW_LIST { "allow list".to_owned() } else { kind },
        description,
    };
    rows.into_iter().map(line).collect()
}

const TABLE: Table<PlatformLine> = Table {
    name: "catalogue",
    place: ListSlot::First,
    columns: &[
        ("name", By::Text(|line| line.name.clone()), ()),
        ("id", By::Text(|line| line.id.clone()), ()),
        ("description", By::Text(|line| line.description.clone()), ()),
        ("stamps", By::Number(|line| i64::try_from(stamps(line).count()).unwrap_or(i64::MAX)), ()),
        ("names", By::Text(|line| stamps(line).collect::<Vec<_>>().join(" ")), ()),
    ],
    usual: "",
};

/// The names of a platform's Stamps.
fn stamps(line: &PlatformLine) -> impl Iterator<Item = &str> {
    line.groups.iter().flat_map(|(_, stamps)| stamps).map(String::as_str)
}

/// Searchable texts: the platform's own words and the names of its Stamps.
fn searchable_texts(line: &PlatformLine) -> Vec<&str> {
    let stamps = line.groups.iter().flat_map(|(group, stamps)| std::iter::once(group).chain(stamps));
    [&line.id, &line.name, &line.description].into_iter().chain(stamps).map(String::as_str).collect()
}

fn line(platform: &Platform) -> PlatformLine {
    let names = |group: &Group| group.stamps.iter().map(|entry| entry.name.to_string()).collect();
    PlatformLine {
        id: platform.id.clone(),
        icon: icon::path(&platform.id),
        name: platform.name.clone(),
        description: platform.description.clone(),
        groups: platform.groups.iter().map(|group| (group.name.clone(), names(group))).collect(),
    }
}

/// Identifies the state of a catalogue.
fn fingerprint(platforms: &[Platform]) -> String {
    // Platforms are texts and lists, so they always serialize to JSON.
    text::hex(&Sha256::digest(serde_json::to_vec(platforms).unwrap_or_default()))
}

pub(crate) async fn new(
    Page { state, who: ScoringManager(who, scoring), .. }: Page<ScoringManager>,
) -> Result<Response, Error> {
    let before = fingerprint(&catalogue::get(&scoring.store, who.person.workspace()).await?.platforms);
    let form = PlatformForm { before, ..PlatformForm::default() };
    html(&PlatformPage { shell: who.shell(&state).await?, stored: None, form })
}

pub(crate) async fn show(
    Page { state, who: ScoringManager(who, scoring), .. }: Page<ScoringManager>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let platforms = catalogue::get(&scoring.store, who.person.workspace()).await?.platforms;
    let platform = platforms.iter().find(|platform| platform.id == id).ok_or(Error::NotFound)?;
    let form = form_of(platform, fingerprint(&platforms));
    html(&PlatformPage { shell: who.shell(&state).await?, stored: Some(line(platform)), form })
}

fn form_of(platform: &Platform, before: String) -> PlatformForm {
    let rows = |group: &Group| {
        let name = group.name.clone();
        let row =
            move |entry: &CatalogueStamp| (name.clone(), entry.name.to_string(), entry.description.clone());
        group.stamps.iter().map(row).collect::<Vec<_>>()
    };
    PlatformForm {
        id: platform.id.clone(),
        name: platform.name.clone(),
        description: platform.description.clone(),
        connect_message: platform.connect_message.clone(),
        icon: platform.icon.clone(),
        url: platform.url.clone().unwrap_or_default(),
        stamps: platform.groups.iter().flat_map(rows).collect(),
        before,
        problems: Problems::default(),
    }
}

/// The form as it was typed, without rows that name no Stamp.
fn typed(fields: &Fields, id: String) -> PlatformForm {
    let rows = fields.all("group").zip(fields.all("stamp")).zip(fields.all("says"));
    let rows = rows.map(|((group, stamp), says)| [group, stamp, says].map(|text| text.trim().to_owned()));
    PlatformForm {
        id,
        name: fields.trimmed("name"),
        description: fields.trimmed("description"),
        connect_message: fields.trimmed("connect_message"),
        icon: fields.trimmed("icon"),
        url: fields.trimmed("url"),
        stamps: rows.filter(|[_, stamp, _]| !stamp.is_empty()).map(Into::into).collect(),
        before: fields.trimmed("before"),
        problems: Problems::default(),
    }
}

/// The platform that a form describes.
fn platform(form: &PlatformForm) -> Result<Platform, Problems> {
    let mut groups: Vec<Group> = Vec::new();
    let mut problems = Problems::default();
    for (row, (group, stamp, says)) in form.stamps.iter().enumerate() {
        let Ok(name) = stamp.parse() else {
            let row = row + 1;
            problems.add(
                "stamp",
                format!("Row {row}: use ASCII letters, digits and punctuation, without spaces."),
            );
            continue;
        };
        // The service computes the hash.
        let entry = CatalogueStamp { name, description: says.clone(), hash: String::new() };
        let group = if group.is_empty() { &form.name } else { group };
        match groups.iter_mut().find(|known| known.name == *group) {
            Some(known) => known.stamps.push(entry),
            None => groups.push(Group { name: group.clone(), stamps: vec![entry] }),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let icon = if form.icon.is_empty() { icon::path(&form.id) } else { form.icon.clone() };
    Ok(Platform {
        id: form.id.clone(),
        icon,
        name: form.name.clone(),
        description: form.description.clone(),
        connect_message: form.connect_message.clone(),
        url: Some(form.url.clone()).filter(|url| !url.is_empty()),
        groups,
    })
}

pub(crate) async fn add(
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let form = typed(&fields, fields.trimmed("id"));
    store(&state, &scoring, &who, form, None).await
}

pub(crate) async fn save(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let form = typed(&fields, id.clone());
    store(&state, &scoring, &who, form, Some(&id)).await
}

const OVERTAKEN: &str = "Not saved: someone else changed the catalogue while you were editing. \
                         Check your entries, and save again to overwrite theirs.";

async fn store(
    state: &State,
    scoring: &pyxis_scoring::State,
    who: &SignedIn,
    mut form: PlatformForm,
    id: Option<&str>,
) -> Result<Response, Error> {
    let mut all = catalogue::get(&scoring.store, who.person.workspace()).await?.platforms.into_owned();
    let place = all.iter().position(|platform| platform.id == form.id);
    if id.is_some() && place.is_none() {
        return Err(Error::NotFound);
    }
    let stored = id.and(place).map(|place| line(&all[place]));
    let now = fingerprint(&all);
    if form.before != now {
        form.before = now;
        form.problems.add("before", OVERTAKEN);
        let mut response = html(&PlatformPage { shell: who.shell(state).await?, stored, form })?;
        *response.status_mut() = StatusCode::CONFLICT;
        return Ok(response);
    }
    form.problems = match platform(&form) {
        Err(problems) => problems,
        Ok(_) if id.is_none() && place.is_some() => taken(&form.id),
        Ok(platform) => {
            match (id, place) {
                (Some(_), Some(place)) => all[place] = platform,
                _ => all.push(platform),
            }
            match catalogue::replace(&scoring.audited, &who.person.actor(), all).await {
                Ok(_) => return Ok(Notice::PlatformSaved.redirect(state.cookies, HERE)),
                Err(error) => problem(error, field)?,
            }
        }
    };
    Ok(unprocessable(html(&PlatformPage { shell: who.shell(state).await?, stored, form })?))
}

fn taken(id: &str) -> Problems {
    let mut problems = Problems::default();
    problems.add("id", format!("The id {id} is taken. Choose another."));
    problems
}

/// The form's field for the service's `platforms[3].groups[0].stamps[1].name`.
fn field(name: &str) -> &'static str {
    if name.contains(".groups") {
        return "stamp";
    }
    match name.rsplit('.').next() {
        Some("id") => "id",
        Some("icon") => "icon",
        Some("url") => "url",
        Some("description") => "description",
        Some("connectMessage") => "connect_message",
        _ => "name",
    }
}

pub(crate) async fn remove(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let mut all = catalogue::get(&scoring.store, who.person.workspace()).await?.platforms.into_owned();
    let before = all.len();
    all.retain(|platform| platform.id != id);
    if all.len() == before {
        return Err(Error::NotFound);
    }
    match catalogue::replace(&scoring.audited, &who.person.actor(), all).await {
        Ok(_) => Ok(Notice::PlatformRemoved.redirect(state.cookies, HERE)),
        Err(Service::InvalidField { .. }) => Ok(Notice::LastPlatform.redirect(state.cookies, HERE)),
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn reset(
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    catalogue::reset(&scoring.audited, &who.person.actor()).await?;
    Ok(Notice::CatalogueReset.redirect(state.cookies, HERE))
}
