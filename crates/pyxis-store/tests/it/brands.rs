//! Brands.

use pyxis_store::brands;
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at};

engines! {
    async fn a_brand_reads_back_and_keeps_its_logo_when_the_words_change(main: &Workspace) {
        let store = &main.store;
        assert!(brands::find(store, main.id).await.unwrap().is_none());
        brands::put(store, main.id, Some("Acme"), Some("#0f766e"), "a@example.com", NOW).await.unwrap();
        brands::set_logo(store, main.id, Some((b"png", "image/png"))).await.unwrap();
        brands::put(store, main.id, None, Some("#000000"), "b@example.com", at(1)).await.unwrap();
        let row = brands::find(store, main.id).await.unwrap().unwrap();
        assert_eq!((row.display_name, row.accent.as_deref()), (None, Some("#000000")));
        assert_eq!((row.logo_type.as_deref(), row.updated_at, row.updated_by.as_str()), (Some("image/png"), at(1), "b@example.com"));
        assert_eq!(brands::logo(store, main.id).await.unwrap(), Some((b"png".to_vec(), "image/png".to_owned())));
        brands::set_logo(store, main.id, None).await.unwrap();
        assert_eq!(brands::logo(store, main.id).await.unwrap(), None);
        let other = main.add_workspace("other").await;
        assert!(brands::find(store, other).await.unwrap().is_none());
    }
}
