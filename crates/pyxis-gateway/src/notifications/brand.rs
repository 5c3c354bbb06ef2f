//! Branding of a workspace's notifications. Only the dashboard's form changes it.

use crate::config::Config;
use pyxis_store::audit::AuditedStore;
use std::io::Cursor;

use image::{ImageFormat, ImageReader, Limits, Rgba, RgbaImage};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::brand::{self, Accent, MAX_LOGO};
use pyxis_core::id::WorkspaceId;
use pyxis_store::{Store, brands};
use serde_json::json;

use crate::error::{Error, Result};
use pyxis_core::actor::Actor;

/// Maximum width and height of an uploaded logo, in pixels.
const MAX_SIDE: u32 = 4096;
/// Maximum width and height of a stored logo, in pixels.
const SIDE: u32 = 256;
/// Side of a tile in the accent color, in pixels.
const TILE: u32 = 96;
/// Memory limit for decoding, in bytes.
const MAX_ALLOC: u64 = 128 * 1024 * 1024;

/// Brand of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brand {
    /// Name in notifications.
    pub display_name: Option<String>,
    /// `#rrggbb`.
    pub accent: Option<String>,
    /// True if there is a logo.
    pub has_logo: bool,
}

pub async fn get(store: &Store, workspace: WorkspaceId) -> Result<Brand> {
    let row = brands::find(store, workspace).await?;
    Ok(row.map_or_else(Brand::default, |row| Brand {
        display_name: row.display_name,
        accent: row.accent,
        has_logo: row.logo_type.is_some(),
    }))
}

/// The logo and its media type.
pub async fn logo(store: &Store, workspace: WorkspaceId) -> Result<Option<(Vec<u8>, String)>> {
    Ok(brands::logo(store, workspace).await?)
}

/// Icon of browser notifications and its media type: the logo, or else a plain tile in the accent color.
pub async fn icon(store: &Store, workspace: WorkspaceId) -> Result<Option<(Vec<u8>, String)>> {
    if let Some(logo) = logo(store, workspace).await? {
        return Ok(Some(logo));
    }
    let accent = get(store, workspace).await?.accent.as_deref().and_then(Accent::parse);
    accent.map(|accent| Ok((tile(accent)?, "image/png".to_owned()))).transpose()
}

fn tile(accent: Accent) -> Result<Vec<u8>> {
    let [red, green, blue] = accent.rgb();
    let tile = RgbaImage::from_pixel(TILE, TILE, Rgba([red, green, blue, u8::MAX]));
    let mut out = Cursor::new(Vec::new());
    tile.write_to(&mut out, ImageFormat::Png).map_err(|error| Error::Internal(Box::new(error)))?;
    Ok(out.into_inner())
}

/// Public URL of the logo, for use in notifications.
pub fn logo_url(config: &Config, workspace: WorkspaceId) -> String {
    format!("{}/brand/{workspace}/logo.png", config.base_url)
}

/// True if external servers can be expected to reach URLs here, such as the logo.
pub fn is_public(config: &Config) -> bool {
    config.base_url.starts_with("https://")
}

/// Builds a brand from form fields; empty fields mean none.
pub fn check(display_name: &str, accent: &str) -> Result<Brand> {
    let display_name = brand::display_name(display_name).map_err(|why| Error::field("display_name", why))?;
    let accent = match accent.trim() {
        "" => None,
        text => {
            let accent = Accent::parse(text)
                .ok_or_else(|| Error::field("accent", "must be six hex digits such as #4338ca"))?;
            Some(accent.to_string())
        }
    };
    Ok(Brand { display_name, accent, has_logo: false })
}

/// Sets name and color.
pub async fn put(db: &AuditedStore, actor: &Actor, display_name: &str, accent: &str) -> Result<Brand> {
    let brand = check(display_name, accent)?;
    let mut change = db.begin(actor).await?;
    let (name, color) = (brand.display_name.as_deref(), brand.accent.as_deref());
    brands::put(&mut change.tx, actor.workspace, name, color, &actor.name, db.now()).await?;
    change.commit(AuditEvent::BrandChanged, json!({ "display_name": name, "accent": color })).await?;
    get(&db.store, actor.workspace).await
}

/// Sets the logo from a file's bytes, or removes it.
pub async fn set_logo(db: &AuditedStore, actor: &Actor, file: Option<Vec<u8>>) -> Result<()> {
    let before = get(&db.store, actor.workspace).await?;
    let logo = match file {
        None => None,
        Some(file) => {
            let drawn = tokio::task::spawn_blocking(move || draw(&file)).await;
            Some(drawn.map_err(|error| Error::Internal(Box::new(error)))??)
        }
    };
    let mut change = db.begin(actor).await?;
    let (name, color) = (before.display_name.as_deref(), before.accent.as_deref());
    brands::put(&mut change.tx, actor.workspace, name, color, &actor.name, db.now()).await?;
    brands::set_logo(&mut change.tx, actor.workspace, logo.as_deref().map(|bytes| (bytes, "image/png")))
        .await?;
    let bytes = logo.as_ref().map(Vec::len);
    Ok(change.commit(AuditEvent::BrandLogoChanged, json!({ "bytes": bytes })).await?)
}

/// Decodes an image and encodes it again, so that only pixels are stored and nothing else from the file (comments,
/// locations, color profiles).
fn draw(file: &[u8]) -> Result<Vec<u8>> {
    let refused = |detail: &str| Error::field("logo", detail);
    if file.len() > MAX_LOGO {
        return Err(refused("must have at most 256 KB"));
    }
    let mut reader = ImageReader::new(Cursor::new(file)).with_guessed_format().map_err(|_| refused(KINDS))?;
    if !matches!(reader.format(), Some(ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP)) {
        return Err(refused(KINDS));
    }
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(MAX_SIDE), Some(MAX_SIDE));
    limits.max_alloc = Some(MAX_ALLOC);
    reader.limits(limits);
    let picture = reader.decode().map_err(|_| refused("the picture cannot be read, or is too large"))?;
    let small = if picture.width() > SIDE || picture.height() > SIDE {
        picture.thumbnail(SIDE, SIDE)
    } else {
        picture
    };
    let mut out = Cursor::new(Vec::new());
    small
        .into_rgba8()
        .write_to(&mut out, ImageFormat::Png)
        .map_err(|error| Error::Internal(Box::new(error)))?;
    Ok(out.into_inner())
}

const KINDS: &str = "must be a PNG, JPEG or WebP picture";

#[cfg(test)]
mod tests {
    use super::*;
    use image::{ImageBuffer, Rgb, RgbImage};

    fn low(number: u32) -> u8 {
        number.to_le_bytes()[0]
    }

    fn encoded(side: u32, format: ImageFormat) -> Vec<u8> {
        let picture: RgbImage = ImageBuffer::from_fn(side, side, |x, y| Rgb([low(x), low(y), 9]));
        let mut out = Cursor::new(Vec::new());
        picture.write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    #[test]
    fn three_kinds_are_read_by_content_and_drawn_anew() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let drawn = draw(&encoded(40, format)).unwrap();
            assert_eq!(image::guess_format(&drawn).unwrap(), ImageFormat::Png);
            assert_eq!(image::load_from_memory(&drawn).unwrap().width(), 40);
        }
    }

    #[test]
    fn without_a_logo_the_picture_is_a_tile_in_the_accent() {
        let drawn = tile(Accent::parse("#ffe066").unwrap()).unwrap();
        let picture = image::load_from_memory(&drawn).unwrap().into_rgba8();
        assert!(picture.pixels().all(|pixel| pixel.0 == [0xff, 0xe0, 0x66, 0xff]));
    }

    #[test]
    fn a_large_picture_is_kept_small() {
        let drawn = draw(&encoded(600, ImageFormat::Jpeg)).unwrap();
        let picture = image::load_from_memory(&drawn).unwrap();
        assert_eq!((picture.width(), picture.height()), (SIDE, SIDE));
        assert!(drawn.len() <= MAX_LOGO);
    }

    #[test]
    fn nothing_that_came_with_the_file_is_kept() {
        const CANARY: &[u8] = b"canary-in-the-file";
        let has_canary = |bytes: &[u8]| bytes.windows(CANARY.len()).any(|window| window == CANARY);
        // As written by cameras after the first marker: a directory without fields, followed by arbitrary data.
        let exif = [b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0", CANARY].concat();
        let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
        let mut jpeg = encoded(8, ImageFormat::Jpeg);
        jpeg.splice(2..2, [&[0xff, 0xe1], length.as_slice(), exif.as_slice()].concat());
        for file in [commented(CANARY), jpeg] {
            assert!(has_canary(&file));
            assert!(!has_canary(&draw(&file).unwrap()));
        }
    }

    #[test]
    fn a_file_of_256_kilobytes_is_taken_and_one_byte_more_is_not() {
        let of = |size: usize| commented(&vec![b'x'; size - commented(b"").len()]);
        draw(&of(256 * 1024)).unwrap();
        let refused = draw(&of(256 * 1024 + 1)).unwrap_err();
        assert_eq!(refused.to_string(), "invalid field logo: must have at most 256 KB");
    }

    /// An image with a text chunk after its header: length, kind, text, checksum.
    fn commented(comment: &[u8]) -> Vec<u8> {
        let mut png = encoded(8, ImageFormat::Png);
        let chunk = [b"tEXtComment\0", comment].concat();
        let length = u32::try_from(chunk.len() - 4).unwrap().to_be_bytes();
        png.splice(33..33, [length.as_slice(), &chunk, &crc(&chunk).to_be_bytes()].concat());
        png
    }

    fn crc(data: &[u8]) -> u32 {
        !data.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 }
            })
        })
    }

    #[test]
    fn what_is_no_picture_of_these_kinds_is_refused() {
        let bomb = {
            // A header that claims 60,000 by 60,000 pixels.
            let mut png = encoded(8, ImageFormat::Png);
            png[16..20].copy_from_slice(&60_000_u32.to_be_bytes());
            png[20..24].copy_from_slice(&60_000_u32.to_be_bytes());
            png
        };
        let cut = encoded(40, ImageFormat::Png)[..60].to_vec();
        for file in [
            Vec::new(),
            b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>".to_vec(),
            b"GIF89a\x01\x00\x01\x00\x00\x00\x00;".to_vec(),
            b"\x89PNG\r\n\x1a\nrubbish".to_vec(),
            bomb,
            cut,
        ] {
            assert!(matches!(draw(&file), Err(Error::InvalidField { .. })));
        }
    }
}
