// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// Verifies scores that a Pyxis installation signed (`?signed=eip712`). Copy this file into your project.
///
/// A contract keeps a `Policy`: which scorer it asks for, how old an answer may be, and whose signatures it trusts. The
/// domain has this chain and this contract, so a signature for another contract, chain or installation is refused.
library PyxisScore {
    /// A score, member by member as it is signed. Numbers have five decimals: 22.598 is 2259800.
    struct Score {
        uint256 scorer;
        address account;
        uint256 score;
        uint256 threshold;
        bool passing;
        uint64 computedAt;
        uint64 issuedAt;
        uint64 expiresAt;
        string challenge;
    }

    /// Terms on which a contract accepts a score.
    struct Policy {
        /// Number of the scorer. Take it from the constructor, never from the caller.
        uint256 scorer;
        /// Most seconds since a score was issued; 0 leaves only its own expiry.
        uint64 maxAge;
        /// Addresses of the installation's `eip712` keys, from GET /.well-known/pyxis-score-keys.
        mapping(address => bool) signers;
    }

    error OtherScorer(uint256 expected, uint256 found);
    error Expired(uint64 expiresAt);
    error TooOld(uint64 issuedAt, uint64 maxAge);
    error OtherChallenge();
    error MalformedSignature();
    error UnknownSigner(address signer);

    bytes32 internal constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 internal constant SCORE_TYPE = keccak256(
        "Score(uint256 scorer,address account,uint256 score,uint256 threshold,bool passing,uint64 computedAt,uint64 issuedAt,uint64 expiresAt,string challenge)"
    );
    bytes32 internal constant NAME = keccak256("Pyxis Score");
    bytes32 internal constant VERSION = keccak256("1");
    /// Half of the curve's order: a signature with a greater s is a variant that anyone can derive.
    uint256 internal constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    /// Reverts unless a trusted key signed this score for this contract, and the score is still good.
    ///
    /// `challenge` is what the score must answer; empty if the application asked without one. The caller decides about
    /// `account` and `passing`. Do not compare `score` with `threshold`: an address without Stamps never passes.
    function verify(
        Policy storage policy,
        Score calldata score,
        string memory challenge,
        bytes calldata signature
    ) internal view {
        if (score.scorer != policy.scorer) revert OtherScorer(policy.scorer, score.scorer);
        if (block.timestamp >= score.expiresAt) revert Expired(score.expiresAt);
        if (policy.maxAge != 0 && block.timestamp > uint256(score.issuedAt) + policy.maxAge) {
            revert TooOld(score.issuedAt, policy.maxAge);
        }
        if (keccak256(bytes(score.challenge)) != keccak256(bytes(challenge))) revert OtherChallenge();
        address signer = recover(digest(score), signature);
        if (!policy.signers[signer]) revert UnknownSigner(signer);
    }

    /// The hash that Pyxis signs for this contract.
    function digest(Score calldata score) internal view returns (bytes32) {
        bytes32 domain = keccak256(abi.encode(DOMAIN_TYPE, NAME, VERSION, block.chainid, address(this)));
        return keccak256(abi.encodePacked("\x19\x01", domain, hash(score)));
    }

    /// `hashStruct` of a score (EIP-712).
    function hash(Score calldata score) internal pure returns (bytes32) {
        return keccak256(
            abi.encode(
                SCORE_TYPE,
                score.scorer,
                score.account,
                score.score,
                score.threshold,
                score.passing,
                score.computedAt,
                score.issuedAt,
                score.expiresAt,
                keccak256(bytes(score.challenge))
            )
        );
    }

    /// Address whose key signed a digest. Reverts for signatures of another form.
    function recover(bytes32 signed, bytes calldata signature) internal pure returns (address signer) {
        if (signature.length != 65) revert MalformedSignature();
        uint8 v = uint8(signature[64]);
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        if (uint256(s) > HALF_ORDER || (v != 27 && v != 28)) revert MalformedSignature();
        signer = ecrecover(signed, v, r, s);
        if (signer == address(0)) revert MalformedSignature();
    }
}
