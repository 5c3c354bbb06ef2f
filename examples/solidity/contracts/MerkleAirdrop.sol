// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";

/// Lets every address on a list in, once. The list is made with `pyxis score merkle`, and its root is public here.
contract MerkleAirdrop {
    bytes32 public immutable root;
    mapping(address => bool) public claimed;

    event Claimed(address indexed account);

    error NotOnTheList();
    error AlreadyClaimed();

    constructor(bytes32 root_) {
        root = root_;
    }

    function claim(bytes32[] calldata proof) external {
        if (claimed[msg.sender]) revert AlreadyClaimed();
        if (!isListed(msg.sender, proof)) revert NotOnTheList();
        claimed[msg.sender] = true;
        emit Claimed(msg.sender);
    }

    /// A leaf is hashed twice, so that no inner node passes for one.
    function isListed(address account, bytes32[] calldata proof) public view returns (bool) {
        bytes32 leaf = keccak256(bytes.concat(keccak256(abi.encode(account))));
        return MerkleProof.verifyCalldata(proof, root, leaf);
    }
}
