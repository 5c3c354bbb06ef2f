//! Stamps without weight, and how responses report them.

use pyxis_scoring::service::stamps::{StampStatus, show};
use pyxis_testkit::engines;

use super::scene::{Scene, score_path, wallet};

engines! {
    async fn a_weight_of_zero_is_told_as_no_weight(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1"), ("Zero", "0")]).await;
        for (name, mark) in [("A", "a:1"), ("Zero", "z:1"), ("None", "n:1")] {
            scene.verify(wallet(1), name, mark, 9).await;
        }
        let explained = scene.get(&format!("{}?explain=true", score_path(scorer, wallet(1)))).await.json();
        let stamps = &explained["explain"]["stamps"];
        let none = "this scorer gives the Stamp no weight";
        for (name, reason) in [("A", "counts"), ("Zero", none), ("None", none)] {
            assert_eq!(stamps[name]["reason"], reason, "{name}");
        }
        let explored = show(&scene.state.store, scene.workspace, Some(scorer), wallet(1), scene.state.now()).await.unwrap();
        let lines = explored.stamps.iter();
        let standings: Vec<_> = lines.map(|line| (line.stamp.provider.as_str(), line.standing)).collect();
        let expected = [("A", StampStatus::Counts), ("None", StampStatus::NoWeight), ("Zero", StampStatus::NoWeight)];
        assert_eq!(standings, expected);
    }
}
