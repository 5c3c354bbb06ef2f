// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// The least of a token that the airdrop's test needs.
contract Token {
    mapping(address => uint256) public balanceOf;

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        balanceOf[msg.sender] -= amount;
        balanceOf[to] += amount;
        return true;
    }
}
