// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// An attestation of the Ethereum Attestation Service (EAS), member by member.
struct Attestation {
    bytes32 uid;
    bytes32 schema;
    uint64 time;
    uint64 expirationTime;
    uint64 revocationTime;
    bytes32 refUID;
    address recipient;
    address attester;
    bool revocable;
    bytes data;
}

interface IEAS {
    function getAttestation(bytes32 uid) external view returns (Attestation memory);
}

/// Resolver and decoder of scores on chain. As the resolver of the schema it lets only the trusted attester attest
/// scores of one scorer, and remembers the latest one of each account. Other contracts ask it `isHuman`.
contract ScoreResolver {
    struct StampScore {
        string provider;
        uint256 score;
    }

    /// Values of the schema.
    struct Values {
        bool passing;
        uint8 decimals;
        uint128 scorer;
        uint32 score;
        uint32 threshold;
        StampScore[] stamps;
    }

    IEAS public immutable eas;
    uint128 public immutable scorer;
    /// The wallet that sends the calldata of `?signed=eas`.
    address public immutable attester;
    /// Most seconds since a score was attested; 0 leaves only its own expiry.
    uint64 public immutable maxAge;
    /// Latest attestation of each account.
    mapping(address => bytes32) public latest;

    error NotEAS();
    error NoScore(address account);
    error Revoked(address account);
    error Expired(address account);
    error TooOld(address account);

    constructor(IEAS eas_, uint128 scorer_, address attester_, uint64 maxAge_) {
        eas = eas_;
        scorer = scorer_;
        attester = attester_;
        maxAge = maxAge_;
    }

    modifier onlyEAS() {
        if (msg.sender != address(eas)) revert NotEAS();
        _;
    }

    // Asked by EAS.

    function isPayable() external pure returns (bool) {
        return false;
    }

    function attest(Attestation calldata attestation) external payable onlyEAS returns (bool) {
        return accept(attestation);
    }

    function multiAttest(Attestation[] calldata attestations, uint256[] calldata)
        external
        payable
        onlyEAS
        returns (bool)
    {
        for (uint256 index = 0; index < attestations.length; index++) {
            if (!accept(attestations[index])) return false;
        }
        return true;
    }

    function revoke(Attestation calldata) external payable onlyEAS returns (bool) {
        return true;
    }

    function multiRevoke(Attestation[] calldata, uint256[] calldata) external payable onlyEAS returns (bool) {
        return true;
    }

    function accept(Attestation calldata attestation) private returns (bool) {
        if (attestation.attester != attester) return false;
        if (decode(attestation.data).scorer != scorer) return false;
        latest[attestation.recipient] = attestation.uid;
        return true;
    }

    // Asked by other contracts.

    /// The score of an account, with four decimals. Reverts if there is none that is still good.
    function getScore(address account) external view returns (uint256) {
        return good(account).score;
    }

    /// True if the account's score passes and is still good.
    function isHuman(address account) external view returns (bool) {
        if (latest[account] == 0) return false;
        try this.passes(account) returns (bool passing) {
            return passing;
        } catch {
            return false;
        }
    }

    /// True if the account's score passes. Reverts if there is none that is still good.
    function passes(address account) external view returns (bool) {
        return good(account).passing;
    }

    function good(address account) private view returns (Values memory) {
        bytes32 uid = latest[account];
        if (uid == 0) revert NoScore(account);
        Attestation memory found = eas.getAttestation(uid);
        if (found.revocationTime != 0) revert Revoked(account);
        if (found.expirationTime != 0 && block.timestamp >= found.expirationTime) revert Expired(account);
        if (maxAge != 0 && block.timestamp > uint256(found.time) + maxAge) revert TooOld(account);
        return decode(found.data);
    }

    /// The values of the schema, as Pyxis and Passport encode them.
    function decode(bytes memory data) public pure returns (Values memory) {
        // A struct is encoded as its members, behind one offset.
        return abi.decode(bytes.concat(bytes32(uint256(32)), data), (Values));
    }
}
