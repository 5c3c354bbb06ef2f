// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// Lets each proved human in once. It trusts the attestations of one Pyxis installation.
contract Gate {
    /// Address of the installation's `eip712` key, from GET /attestation/keys.
    address public immutable signer;
    mapping(address => bool) public joined;

    bytes32 private constant DOMAIN = keccak256("EIP712Domain(string name,string version,uint256 chainId)");
    bytes32 private constant ATTESTATION = keccak256(
        "Attestation(string kind,address recipient,uint256 actionId,uint64 issuedAt,uint64 expiresAt)"
    );
    /// The check and the action that this contract asks for. Never take them from the caller.
    string private constant KIND = "gov-id";
    uint256 private constant ACTION = 123456789;

    constructor(address signer_) {
        signer = signer_;
    }

    /// Lets the sender in. Someone else's attestation is of no use, because the recipient is the sender.
    function join(uint64 issuedAt, uint64 expiresAt, bytes calldata signature) external {
        require(!joined[msg.sender], "already in");
        require(check(KIND, msg.sender, ACTION, issuedAt, expiresAt, signature), "no valid attestation");
        joined[msg.sender] = true;
    }

    /// True for a signature of `signer` over these values, on this chain, that has not expired.
    function check(
        string memory kind,
        address recipient,
        uint256 actionId,
        uint64 issuedAt,
        uint64 expiresAt,
        bytes calldata signature
    ) public view returns (bool) {
        if (block.timestamp >= expiresAt || signature.length != 65) return false;
        bytes32 domain =
            keccak256(abi.encode(DOMAIN, keccak256("Pyxis Attestation"), keccak256("1"), block.chainid));
        bytes32 message =
            keccak256(abi.encode(ATTESTATION, keccak256(bytes(kind)), recipient, actionId, issuedAt, expiresAt));
        bytes32 hash = keccak256(abi.encodePacked("\x19\x01", domain, message));
        address found =
            ecrecover(hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
        return found != address(0) && found == signer;
    }
}
