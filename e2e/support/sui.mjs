// As much of Sui's framework as the Move example needs, by its public signatures. The natives behind `bcs` and
// `ed25519` are the compiler's own.

/** Files of the standard library at 0x1. */
const STANDARD = {
  "Move.toml": manifest("MoveStdlib", "0x1", "std"),
  "sources/bcs.move": `
    module std::bcs;
    public native fun to_bytes<T>(value: &T): vector<u8>;`,
  "sources/option.move": `
    module std::option;
    public struct Option<T> has copy, drop, store { inside: vector<T> }`,
  "sources/vector.move": "module std::vector;",
  "sources/unit_test.move": `
    #[test_only]
    module std::unit_test;
    public fun poison() { abort 0 }`,
};

/** Files of the framework at 0x2. */
const FRAMEWORK = {
  "Move.toml": `${manifest("Sui", "0x2", "sui")}[dependencies]\nMoveStdlib = { local = "../move-stdlib" }\n`,
  "sources/bcs.move": `
    module sui::bcs;
    public fun to_bytes<T>(value: &T): vector<u8> { std::bcs::to_bytes(value) }`,
  "sources/object.move": `
    module sui::object;
    public struct ID has copy, drop, store { bytes: address }
    public struct UID has store { id: ID }
    #[test_only]
    public fun new_for_testing(): UID { UID { id: ID { bytes: @0x6 } } }
    #[test_only]
    public fun forget(uid: UID) { let UID { id: _ } = uid; }`,
  "sources/transfer.move": "module sui::transfer;",
  "sources/clock.move": `
    module sui::clock;
    public struct Clock has key { id: UID, timestamp_ms: u64 }
    public fun timestamp_ms(clock: &Clock): u64 { clock.timestamp_ms }
    #[test_only]
    public fun create_for_testing(_ctx: &mut TxContext): Clock {
        Clock { id: sui::object::new_for_testing(), timestamp_ms: 0 }
    }
    #[test_only]
    public fun set_for_testing(clock: &mut Clock, timestamp_ms: u64) { clock.timestamp_ms = timestamp_ms; }
    #[test_only]
    public fun destroy_for_testing(clock: Clock) {
        let Clock { id, timestamp_ms: _ } = clock;
        sui::object::forget(id);
    }`,
  "sources/ed25519.move": `
    module sui::ed25519;
    public native fun ed25519_verify(signature: &vector<u8>, public_key: &vector<u8>, msg: &vector<u8>): bool;`,
  "sources/tx_context.move": `
    module sui::tx_context;
    public struct TxContext has drop { sender: address }
    public fun sender(self: &TxContext): address { self.sender }
    #[test_only]
    public fun new(sender: address, _hash: vector<u8>, _epoch: u64, _timestamp_ms: u64, _ids: u64): TxContext {
        TxContext { sender }
    }`,
};

function manifest(name, address, alias) {
  return `[package]\nname = "${name}"\nedition = "2024.beta"\npublished-at = "${address}"\n[addresses]\n${alias} = "${address}"\n`;
}

/** Hands them to the compiler, which would otherwise look for the framework in the network. */
export const fetcher = {
  fetch: async (_url, _revision, folder) => (folder.endsWith("move-stdlib") ? STANDARD : FRAMEWORK),
  fetchFile: async () => null,
  getResolvedSha: () => "0".repeat(40),
};
