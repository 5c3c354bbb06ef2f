// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// Answers for every address but one, for which it takes all gas: by an invalid instruction or by an endless loop.
contract Glutton {
    address private immutable heavy;
    bool private immutable endless;

    constructor(address heavy_, bool endless_) {
        heavy = heavy_;
        endless = endless_;
    }

    function isUniqueForAction(address user, uint256) external view returns (bool) {
        if (user == heavy) {
            uint256 turns = 0;
            while (endless) {
                unchecked {
                    turns++;
                }
            }
            assembly {
                invalid()
            }
        }
        return uint160(user) % 2 == 1;
    }
}
