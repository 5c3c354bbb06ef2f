// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {PyxisScore} from "./PyxisScore.sol";

interface IERC20 {
    function transfer(address to, uint256 amount) external returns (bool);
}

/// Pays a fixed amount of a token, once, to every address whose score passes. A sample: fund it with the token.
contract Airdrop {
    using PyxisScore for PyxisScore.Policy;

    IERC20 public immutable token;
    uint256 public immutable amount;
    address public owner;
    /// Name of the round. With one, the application asks Pyxis with this challenge, and scores for other rounds are
    /// refused.
    string public round;
    /// Rounds, by the hash of their name, and the addresses that were paid in them.
    mapping(bytes32 => mapping(address => bool)) public claimed;
    PyxisScore.Policy private policy;

    event Claimed(address indexed account, uint256 score);
    event SignerSet(address indexed signer, bool trusted);
    event RoundStarted(string round);

    error NotOwner();
    error NotYourScore();
    error DoesNotPass();
    error AlreadyClaimed();
    error TransferFailed();

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner();
        _;
    }

    constructor(IERC20 token_, uint256 amount_, uint256 scorer, uint64 maxAge, address signer, string memory round_) {
        token = token_;
        amount = amount_;
        owner = msg.sender;
        policy.scorer = scorer;
        policy.maxAge = maxAge;
        policy.signers[signer] = true;
        round = round_;
        emit SignerSet(signer, true);
    }

    /// Pays the sender. Someone else's score is of no use, because it names its account.
    function claim(PyxisScore.Score calldata score, bytes calldata signature) external {
        if (score.account != msg.sender) revert NotYourScore();
        policy.verify(score, round, signature);
        if (!score.passing) revert DoesNotPass();
        bytes32 key = keccak256(bytes(round));
        if (claimed[key][msg.sender]) revert AlreadyClaimed();
        claimed[key][msg.sender] = true;
        emit Claimed(msg.sender, score.score);
        if (!token.transfer(msg.sender, amount)) revert TransferFailed();
    }

    /// Trusts a key, or no longer. Add the next key of the installation before it signs.
    function setSigner(address signer, bool trusted) external onlyOwner {
        policy.signers[signer] = trusted;
        emit SignerSet(signer, trusted);
    }

    /// Starts another round, in which every address can claim again.
    function startRound(string calldata round_) external onlyOwner {
        round = round_;
        emit RoundStarted(round_);
    }

    function trusts(address signer) external view returns (bool) {
        return policy.signers[signer];
    }
}
