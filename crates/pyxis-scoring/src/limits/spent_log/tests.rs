use std::sync::Arc;

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;

use super::*;

fn file() -> File {
    tempfile::tempfile().unwrap()
}

fn ledger(file: &File) -> Arc<SpentLog> {
    let node = NodeId::new(UnixMillis(1_000), &SeededEntropy::new(1));
    Arc::new(SpentLog::new(node, file.try_clone().unwrap()).unwrap())
}

#[test]
fn what_was_let_in_is_read_by_slot() {
    let file = file();
    let ledger = ledger(&file);
    assert_eq!(read(&file).unwrap(), Some(vec![]));
    let mut slots = [ledger.take().unwrap(), ledger.take().unwrap()];
    for (slot, requests) in slots.iter_mut().zip([3, 70_000]) {
        assert!((0..requests).all(|_| slot.spend()));
    }
    assert_eq!(slots.each_ref().map(|slot| (slot.number(), slot.spent())), [(0, 3), (1, 70_000)]);
    assert_eq!(read(&file).unwrap(), Some(vec![3, 70_000]));
}

#[test]
fn a_slot_is_taken_again_from_zero_unless_it_is_unclear() {
    let file = file();
    let ledger = ledger(&file);
    let (mut clear, mut unclear) = (ledger.take().unwrap(), ledger.take().unwrap());
    assert!(clear.spend() && unclear.spend());
    unclear.is_unclear();
    drop((clear, unclear));
    let taken = [ledger.take().unwrap(), ledger.take().unwrap()];
    assert_eq!(taken.each_ref().map(|slot| (slot.number(), slot.spent())), [(0, 0), (2, 0)]);
    assert_eq!(read(&file).unwrap(), Some(vec![0, 1, 0]));
}

#[test]
fn there_are_only_so_many_slots_at_a_time() {
    let ledger = ledger(&file());
    let mut slots: Vec<Slot> = (0..SLOTS).map(|_| ledger.take().unwrap()).collect();
    assert!(ledger.take().is_none());
    slots.pop();
    assert_eq!(ledger.take().unwrap().number(), i64::from(SLOTS) - 1);
}

#[test]
fn where_nothing_can_be_written_there_is_no_slot_and_nobody_is_let_in() {
    let mut path = tempfile::NamedTempFile::new().unwrap();
    let ledger = ledger(path.as_file());
    let mut slot = ledger.take().unwrap();
    assert!(slot.spend());
    let read_only = File::open(path.path()).unwrap();
    let ledger = Arc::new(SpentLog {
        node: ledger.node(),
        file: read_only,
        free: Mutex::new(Free { left: vec![], rest: 0 }),
    });
    assert!(ledger.take().is_none());
    slot.ledger = ledger;
    assert!(!slot.spend());
    assert_eq!(slot.spent(), 1);
    assert_eq!(read(path.as_file_mut()).unwrap(), Some(vec![1]));
}

#[test]
fn what_is_of_another_run_of_the_machine_tells_nothing() {
    let file = file();
    let ledger = ledger(&file);
    assert!(ledger.take().unwrap().spend());
    file.write_all_at(b"another", 0).unwrap();
    assert_eq!(read(&file).unwrap(), None);
    file.set_len(10).unwrap();
    assert_eq!(read(&file).unwrap(), None);
    file.set_len(0).unwrap();
    assert_eq!(read(&file).unwrap(), None);
}
