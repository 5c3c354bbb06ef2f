//! Models: cards, plots, the score of one wallet, and suspected groups.

use axum::response::Response;
use pyxis_core::address::EvmAddress;
use pyxis_scoring::models::{ModelExplanation, WalletExplanation};
use pyxis_scoring::service::Error as ServiceError;
use pyxis_scoring::service::models::{
    self, Card, CustomCard, Group, Model, Overview, Quality, SharedCounterparty,
};
use pyxis_store::lists;
use serde::Deserialize;

use super::list_query::{ListQuery, ListSlot, read};
use crate::Error;
use crate::error::html;
use crate::form::{Page, QueryParams};
use crate::session::ScoringManager;
use crate::text::{count_noun, grouped};
use crate::view::Choice;
use crate::view::models::{
    CustomLine, FoundModel, GroupLine, ModelScoreView, ModelsPage, QualityLine, Reason,
};

#[derive(Default, Deserialize)]
pub(crate) struct ModelsParams {
    #[serde(default)]
    address: String,
    #[serde(default)]
    model: String,
}

const NO_ADDRESS: &str =
    "Enter an address: 0x followed by 40 hex characters. Names such as vitalik.eth are not supported.";

pub(crate) async fn page(
    Page { state, who: ScoringManager(who, scoring), query }: Page<ScoringManager, ModelsParams>,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Response, Error> {
    let ModelsParams { address, model } = query;
    let chosen = Model::from_name(&model).unwrap_or(Model::Aggregate);
    let typed = address.trim();
    let (found, problem) = match typed.parse::<EvmAddress>() {
        Ok(address) => match models::explain_wallet(&scoring, address, chosen).await {
            Ok(told) => (Some(found(address, chosen, &told)), None),
            Err(failed @ ServiceError::Source(_)) => {
                (None, Some(format!("No score, because a data source failed: {failed}.")))
            }
            Err(other) => return Err(other.into()),
        },
        Err(_) if typed.is_empty() => (None, None),
        Err(_) => (None, Some(NO_ADDRESS.to_owned())),
    };
    let overview = models::overview(&scoring).await?;
    let list = lists::suspect_groups();
    let (groups, search) = read(&scoring.store, ListSlot::First, "/app/models", &asked, &list, &[]).await?;
    let groups = groups.iter().map(|item| models::group(&item.document));
    let groups: Vec<Group> = groups.collect::<Result<_, _>>()?;
    let of_all = overview.card.models.iter().find(|model| model.name == Model::Aggregate.as_str());
    let quality = of_all.and_then(|model| model.by_cluster.as_ref().or(model.random.as_ref()));
    let unserved: i64 =
        overview.served.iter().filter(|(_, bucket, _)| *bucket < 0).map(|(.., count)| *count).sum();
    html(&ModelsPage {
        shell: who.shell(&state).await?,
        address: typed.to_owned(),
        problem,
        choices: Model::ALL
            .iter()
            .map(|model| Choice {
                value: model.as_str().to_owned(),
                label: model.as_str().replace('_', " "),
                chosen: *model == chosen,
            })
            .collect(),
        found,
        origin: origin(&overview),
        fingerprint: overview.fingerprint.clone(),
        lines: lines(&overview.card),
        plots: quality.map(|quality| models::plots(quality).to_vec()).unwrap_or_default(),
        limits: overview.card.limits.clone(),
        customs: overview.customs.iter().map(custom).collect(),
        served: models::served_plot(&overview.served),
        unserved: (unserved > 0).then(|| {
            format!("{} returned -1: too little data.", count_noun(unserved.unsigned_abs(), "more answer"))
        }),
        search,
        groups: groups.iter().map(group).collect(),
        has_activity: overview.imports > 0 || overview.indexers,
    })
}

fn origin(overview: &Overview) -> String {
    let Card { trained_at, data, .. } = &overview.card;
    let day = trained_at.split('T').next().unwrap_or_default();
    let from = match overview.revision {
        None => "Built into the program".to_owned(),
        Some(number) => format!("Revision {number} on this server"),
    };
    format!(
        "{from}, trained on {day} with {} labeled addresses ({} human) and {} transfers.",
        grouped(data.labelled as u64),
        grouped(data.humans as u64),
        grouped(data.transfers as u64)
    )
}

fn lines(card: &Card) -> Vec<QualityLine> {
    let mut lines = Vec::new();
    let known = card.models.iter().map(|model| ("", model));
    let alone = card.alone.iter().map(|model| ("alone, ", model));
    for (known, model) in known.chain(alone) {
        let measured = model.measured();
        let headline = measured.iter().position(|(split, _)| split == "by cluster").unwrap_or(0);
        for (index, (split, quality)) in measured.into_iter().enumerate() {
            lines.push(QualityLine {
                model: model.name.clone(),
                is_headline: known.is_empty() && index == headline,
                transferred: model.transferred,
                serves: model.serves.join(", "),
                split: format!("{known}{split}"),
                scored: grouped(quality.scored as u64),
                auc: format!("{:.4}", quality.auc),
                precision: precision(quality),
                calibration: format!("{:.4}", quality.calibration_error),
            });
        }
    }
    lines
}

fn custom(card: &CustomCard) -> CustomLine {
    let quality = card.quality.as_ref().map(|quality| {
        format!(
            "On {} labeled addresses: AUC {:.4}, calibration error {:.4}.",
            grouped(quality.scored as u64),
            quality.auc,
            quality.calibration_error
        )
    });
    CustomLine {
        model: card.model.replace('_', " "),
        name: card.name.clone(),
        description: card.description.clone(),
        made_of: format!("{}: {}", card.producer, card.operators.join(", ")),
        file: card.file_sha256.clone(),
        features: card.features_sha256.clone(),
        added: card.added_at.clone(),
        quality,
    }
}

fn precision(quality: &Quality) -> String {
    let at = quality.precision_at_recall.iter().find(|(recall, _)| (recall - 0.8).abs() < 1e-9);
    at.map_or_else(String::new, |(_, precision)| format!("{precision:.3}"))
}

fn found(address: EvmAddress, model: Model, told: &WalletExplanation) -> ModelScoreView {
    let words = match told.score {
        None => format!("Too little data: {}.", told.missing.clone().unwrap_or_default()),
        Some(score) if score >= 50.0 => "Its activity resembles that of human wallets.".to_owned(),
        Some(_) => "Its activity resembles that of Sybil wallets.".to_owned(),
    };
    ModelScoreView {
        address: address.to_string(),
        score: told.score.map_or_else(|| "-1".to_owned(), |score| format!("{score:.2}")),
        words: format!("{words} Model: {}.", model.as_str().replace('_', " ")),
        models: told.models.iter().map(found_model).collect(),
    }
}

fn found_model(told: &ModelExplanation) -> FoundModel {
    let reason = |line: &pyxis_scoring::models::FeatureLine| Reason {
        words: line.words.clone(),
        value: line.value.map_or_else(|| "unknown".to_owned(), plain),
        human: line.moved > 0.0,
        moved: format!("{:+.2}", line.moved),
    };
    FoundModel {
        name: told.model.as_str().replace('_', " "),
        score: format!("{:.2}", told.score),
        weight: format!("{:.0} %", told.weight * 100.0),
        transferred: told.transferred,
        custom: told.custom.as_ref().map(|custom| custom.name.clone()),
        reasons: told.features.iter().map(reason).collect(),
    }
}

/// Whole numbers without decimals, others with two.
fn plain(value: f32) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// Searchable texts of a group: its members, and their common addresses.
fn group(group: &Group) -> GroupLine {
    let shared = |shared: &Option<SharedCounterparty>, words: &str| {
        shared.as_ref().map(|shared| {
            format!("{} {words} {}.", count_noun(shared.members as u64, "member"), shared.address)
        })
    };
    let own = [
        shared(&group.shared_funder, "received from"),
        shared(&group.shared_sink, "sent to"),
        (group.same_day > 0).then(|| {
            format!(
                "{} made their first bridge transfer within a day of another member.",
                count_noun(group.same_day as u64, "member")
            )
        }),
        (group.transfers_within > 0)
            .then(|| format!("{} between members.", count_noun(group.transfers_within as u64, "transfer"))),
    ];
    GroupLine {
        id: group.id.to_string(),
        users: grouped(group.size as u64),
        score: format!("{:.0}", group.median_score),
        evidence: own.into_iter().flatten().collect(),
        picture: models::picture(group),
    }
}
