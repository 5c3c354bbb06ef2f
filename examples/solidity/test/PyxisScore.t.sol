// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {PyxisScore} from "../contracts/PyxisScore.sol";

/// The part of Foundry's cheat codes that is used here.
interface Vm {
    function addr(uint256 key) external pure returns (address);
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function warp(uint256 timestamp) external;
    function chainId(uint256 id) external;
    function expectRevert(bytes calldata reason) external;
    function assume(bool condition) external pure;
}

/// A contract that trusts scores, as an application writes it.
contract Gate {
    using PyxisScore for PyxisScore.Policy;

    PyxisScore.Policy private policy;

    constructor(uint256 scorer, uint64 maxAge, address signer) {
        policy.scorer = scorer;
        policy.maxAge = maxAge;
        policy.signers[signer] = true;
    }

    function trust(address signer, bool trusted) external {
        policy.signers[signer] = trusted;
    }

    function verify(PyxisScore.Score calldata score, string calldata challenge, bytes calldata signature) external view {
        policy.verify(score, challenge, signature);
    }

    function digest(PyxisScore.Score calldata score) external view returns (bytes32) {
        return PyxisScore.digest(score);
    }
}

contract PyxisScoreTest {
    Vm private constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
    uint256 private constant KEY = 0xA11CE;
    uint256 private constant STRANGER = 0xB0B;
    uint256 private constant ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;
    uint64 private constant NOW = 1_800_000_000;
    uint64 private constant MAX_AGE = 600;

    Gate private gate;

    function setUp() public {
        vm.warp(NOW);
        gate = new Gate(335, MAX_AGE, vm.addr(KEY));
    }

    function good() private pure returns (PyxisScore.Score memory score) {
        score.scorer = 335;
        score.account = address(0xABCD);
        score.score = 2_259_800;
        score.threshold = 2_000_000;
        score.passing = true;
        score.computedAt = NOW - 100;
        score.issuedAt = NOW - 10;
        score.expiresAt = NOW + 3_000;
        score.challenge = "round-1";
    }

    function signed(PyxisScore.Score memory score, uint256 key) private view returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, gate.digest(score));
        return abi.encodePacked(r, s, v);
    }

    function refuse(bytes memory reason, PyxisScore.Score memory score, bytes memory signature) private {
        vm.expectRevert(reason);
        gate.verify(score, "round-1", signature);
    }

    function test_a_signed_score_is_accepted() public view {
        gate.verify(good(), "round-1", signed(good(), KEY));
    }

    function testFuzz_whatever_is_signed_is_accepted(address account, uint256 points, bool passing, string memory challenge)
        public
        view
    {
        PyxisScore.Score memory score = good();
        (score.account, score.score, score.passing, score.challenge) = (account, points, passing, challenge);
        gate.verify(score, challenge, signed(score, KEY));
    }

    function testFuzz_a_changed_score_has_another_signer(uint256 points) public {
        PyxisScore.Score memory score = good();
        vm.assume(points != score.score);
        bytes memory signature = signed(score, KEY);
        score.score = points;
        (bool accepted,) = address(gate).call(abi.encodeCall(gate.verify, (score, "round-1", signature)));
        require(!accepted, "a changed score was accepted");
    }

    function testFuzz_a_stranger_signs_nothing(uint256 key) public {
        key = (key % (ORDER - 1)) + 1;
        vm.assume(key != KEY);
        refuse(abi.encodeWithSelector(PyxisScore.UnknownSigner.selector, vm.addr(key)), good(), signed(good(), key));
    }

    function test_another_scorer_is_refused() public {
        PyxisScore.Score memory score = good();
        score.scorer = 336;
        refuse(abi.encodeWithSelector(PyxisScore.OtherScorer.selector, 335, 336), score, signed(score, KEY));
    }

    function test_another_challenge_is_refused() public {
        PyxisScore.Score memory score = good();
        score.challenge = "round-2";
        refuse(abi.encodeWithSelector(PyxisScore.OtherChallenge.selector), score, signed(score, KEY));
    }

    function test_a_score_ends_with_its_expiry() public {
        gate = gateOf(0);
        bytes memory signature = signed(good(), KEY);
        vm.warp(NOW + 2_999);
        gate.verify(good(), "round-1", signature);
        vm.warp(NOW + 3_000);
        refuse(abi.encodeWithSelector(PyxisScore.Expired.selector, NOW + 3_000), good(), signature);
    }

    function test_a_score_ends_with_the_maximum_age() public {
        bytes memory signature = signed(good(), KEY);
        vm.warp(NOW - 10 + MAX_AGE);
        gate.verify(good(), "round-1", signature);
        vm.warp(NOW - 9 + MAX_AGE);
        refuse(abi.encodeWithSelector(PyxisScore.TooOld.selector, NOW - 10, MAX_AGE), good(), signature);
    }

    function test_a_signature_is_for_one_contract_and_one_chain() public {
        bytes memory signature = signed(good(), KEY);
        Gate other = gateOf(MAX_AGE);
        (bool accepted,) = address(other).call(abi.encodeCall(other.verify, (good(), "round-1", signature)));
        require(!accepted, "another contract accepted it");
        vm.chainId(block.chainid + 1);
        (accepted,) = address(gate).call(abi.encodeCall(gate.verify, (good(), "round-1", signature)));
        require(!accepted, "another chain accepted it");
    }

    function test_a_rotated_key_is_accepted_as_long_as_it_is_trusted() public {
        gate.trust(vm.addr(STRANGER), true);
        gate.verify(good(), "round-1", signed(good(), STRANGER));
        gate.verify(good(), "round-1", signed(good(), KEY));
        gate.trust(vm.addr(KEY), false);
        refuse(abi.encodeWithSelector(PyxisScore.UnknownSigner.selector, vm.addr(KEY)), good(), signed(good(), KEY));
    }

    function test_another_form_of_signature_is_refused() public {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(KEY, gate.digest(good()));
        bytes memory malformed = abi.encodeWithSelector(PyxisScore.MalformedSignature.selector);
        refuse(malformed, good(), "");
        refuse(malformed, good(), abi.encodePacked(r, s));
        refuse(malformed, good(), abi.encodePacked(r, s, v, uint8(0)));
        refuse(malformed, good(), abi.encodePacked(r, s, v - 27));
        refuse(malformed, good(), abi.encodePacked(r, bytes32(ORDER - uint256(s)), v == 27 ? uint8(28) : uint8(27)));
        refuse(malformed, good(), abi.encodePacked(bytes32(0), bytes32(0), v));
    }

    function gateOf(uint64 maxAge) private returns (Gate) {
        return new Gate(335, maxAge, vm.addr(KEY));
    }
}
