// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// Contracts that conditions of own Stamps read, settable by tests: tokens of three standards, a registry, attestations
/// as EAS returns them.
contract Holdings {
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

    mapping(address => uint256) private balances;
    mapping(uint256 => address) private owners;
    mapping(address => mapping(uint256 => uint256)) private amounts;
    mapping(address => mapping(bytes32 => bytes32)) private uids;
    mapping(bytes32 => Attestation) private attestations;
    mapping(address => uint256) private ranks;
    mapping(address => uint256) private identities;
    bool private broken;

    function balanceOf(address holder) external view returns (uint256) {
        require(!broken, "paused");
        return balances[holder];
    }

    function balanceOf(address holder, uint256 id) external view returns (uint256) {
        return amounts[holder][id];
    }

    function ownerOf(uint256 id) external view returns (address) {
        require(owners[id] != address(0), "no such token");
        return owners[id];
    }

    /// Reverts for strangers.
    function rankOf(address holder, bytes4 list) external view returns (bytes4, uint256) {
        require(ranks[holder] != 0, "a stranger");
        return (list, ranks[holder]);
    }

    /// The number of the person behind an address; 0 for strangers.
    function identityOf(address holder) external view returns (uint256) {
        return identities[holder];
    }

    function getAttestation(bytes32 uid) external view returns (Attestation memory) {
        return attestations[uid];
    }

    function getAttestationUid(address recipient, bytes32 schema) external view returns (bytes32) {
        return uids[recipient][schema];
    }

    function setBroken(bool value) external {
        broken = value;
    }

    function setBalance(address holder, uint256 amount) external {
        balances[holder] = amount;
    }

    function setOwner(uint256 id, address holder) external {
        owners[id] = holder;
    }

    function setAmount(address holder, uint256 id, uint256 amount) external {
        amounts[holder][id] = amount;
    }

    function setRank(address holder, uint256 rank) external {
        ranks[holder] = rank;
    }

    function setIdentity(address holder, uint256 identity) external {
        identities[holder] = identity;
    }

    function attest(bytes32 uid, bytes32 schema, address recipient, address attester, uint64 expirationTime) external {
        attestations[uid] = Attestation(
            uid, schema, uint64(block.timestamp), expirationTime, 0, 0, recipient, attester, true, "data"
        );
        uids[recipient][schema] = uid;
    }

    function revoke(bytes32 uid) external {
        attestations[uid].revocationTime = uint64(block.timestamp);
    }
}
