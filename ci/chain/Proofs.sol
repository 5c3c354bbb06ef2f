// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// Values that Pyxis reads from contracts of proofs, with everything settable by tests.
contract Proofs {
    struct Sbt {
        uint256 expiry;
        uint256[] publicValues;
        bool revoked;
    }

    mapping(address => mapping(bytes32 => Sbt)) private sbts;
    mapping(address => mapping(uint256 => bool)) public isUniqueForAction;
    mapping(address => bool) public usResidency;
    bool private broken;

    function getSBT(address user, bytes32 circuitId)
        external
        view
        returns (uint256 expiry, uint256[] memory publicValues, bool revoked)
    {
        require(!broken, "the moon is in the wrong place");
        Sbt storage sbt = sbts[user][circuitId];
        require(sbt.expiry > block.timestamp, "SBT is expired or does not exist");
        require(!sbt.revoked, "SBT has been revoked");
        return (sbt.expiry, sbt.publicValues, sbt.revoked);
    }

    function mint(address user, bytes32 circuitId, uint256 expiry, uint256 actionId, uint256 issuer) external {
        uint256[] memory values = new uint256[](5);
        values[2] = actionId;
        values[4] = issuer;
        sbts[user][circuitId] = Sbt(expiry, values, false);
    }

    function revoke(address user, bytes32 circuitId) external {
        sbts[user][circuitId].revoked = true;
    }

    function setUnique(address user, uint256 actionId, bool value) external {
        isUniqueForAction[user][actionId] = value;
    }

    function setResident(address user, bool value) external {
        usResidency[user] = value;
    }

    function setBroken(bool value) external {
        broken = value;
    }
}

/// The part of Multicall3 that Pyxis uses.
contract Multicall {
    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            (bool success, bytes memory data) = calls[i].target.call(calls[i].callData);
            require(success || calls[i].allowFailure, "Multicall3: call failed");
            results[i] = Result(success, data);
        }
    }
}

/// Trusts what Pyxis signs for this chain.
contract Attestations {
    address public immutable signer;
    bytes32 private constant DOMAIN = keccak256("EIP712Domain(string name,string version,uint256 chainId)");
    bytes32 private constant ATTESTATION = keccak256(
        "Attestation(string kind,address recipient,uint256 actionId,uint64 issuedAt,uint64 expiresAt)"
    );

    constructor(address signer_) {
        signer = signer_;
    }

    function check(
        string calldata kind,
        address recipient,
        uint256 actionId,
        uint64 issuedAt,
        uint64 expiresAt,
        bytes calldata signature
    ) external view returns (bool) {
        if (block.timestamp >= expiresAt || signature.length != 65) {
            return false;
        }
        bytes32 domain =
            keccak256(abi.encode(DOMAIN, keccak256("Pyxis Attestation"), keccak256("1"), block.chainid));
        bytes32 message =
            keccak256(abi.encode(ATTESTATION, keccak256(bytes(kind)), recipient, actionId, issuedAt, expiresAt));
        bytes32 hash = keccak256(abi.encodePacked("\x19\x01", domain, message));
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        address found = ecrecover(hash, uint8(signature[64]), r, s);
        return found != address(0) && found == signer;
    }
}
