// Generated from the server's OpenAPI document by `npm run generate`. Types only; do not edit.

export interface paths {
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the public keys of score tokens, as a JSON Web Key Set (RFC 7517) */
        get: operations["getScoreTokenKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/pyxis-score-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the public keys that sign scores, with the times at which they do */
        get: operations["getScoreKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/approvals/{txn_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the outcome of a pending request
         * @description Always 200 for the key that sent the request, in every state; 404 for other keys. `approved` with null in both `response` and `error`: the request is being forwarded.
         */
        get: operations["pollApproval"];
        put?: never;
        post?: never;
        /** Withdraw a pending request */
        delete: operations["withdrawRequest"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/services": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the credentials that this key may use */
        get: operations["listServices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/attestation/clean-hands/{address}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check clean hands of an EVM address, by the external index
         * @description If the index fails, the response is 502, never false; without a configured index it is 503.
         */
        get: operations["checkCleanHands"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/attestation/evm/{credential_type}/{network}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Attest a check, signed for EVM contracts
         * @description Typed data (EIP-712), bound to the chain and the recipient, with an expiry.
         */
        get: operations["attestForEvm"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/attestation/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the keys that signed attestations, newest first */
        get: operations["listAttestationKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/forward": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a request with a stored credential
         * @description Always POST, whatever the upstream method. The body and all headers except control headers go to the target. Hop-by-hop headers, `Cookie`, `Forwarded`, `X-Forwarded-*`, `X-OAuth-*` and headers that the credential sets are left out. Redirects are not followed. A secret in the response is replaced with `[REDACTED:name]`.
         *
         *     A request identical to a pending one joins it, so that people are asked once.
         *
         *     The handshake of a WebSocket is sent as `GET /forward` with the same headers. The answer is the target's 101, or as for any request.
         */
        post: operations["forward"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/residence/country/{country}/{network}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that an address proves residence in the United States
         * @description On `optimism` and `optimism-goerli` unless others are configured.
         */
        get: operations["checkResidence"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sybil-resistance/{credential_type}/{network}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that an address represents a unique human for an action
         * @description The current state, on `optimism`, `base-sepolia`, `ethereum` and `base` unless others are configured.
         */
        get: operations["checkSybilResistance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/models/score/{address}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a model's score of any wallet
         * @description Computed from the wallet's own activity; no Stamps are needed. 0 to 100: the lower, the likelier a Sybil. -1 means too little data: fewer than two transfers that the model looks at. `aggregate` combines the other models that had data. Requests have a separate limit: 15, 350 or 2,000 in 15 minutes by the key's models tier.
         */
        get: operations["getModelScore"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/stamps/{address}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the verified Stamps of an address
         * @description Newest first, without expired and revoked ones. Pages stay stable while Stamps are added.
         */
        get: operations["listStamps"];
        put?: never;
        /**
         * Add credentials of an address
         * @description For keys that may write. Each credential is checked separately: its signature, that its issuer is trusted, its dates, and that its subject is the address. The Stamp's name is the one that the issuer signed. If several credentials have the same name, the one issued last counts.
         */
        post: operations["addStamps"];
        /**
         * Remove Stamps for their holder
         * @description For keys that may write. Removes all of them or none. The claims of a removed credential last until it would have expired, so that it cannot move to another address at once.
         */
        delete: operations["removeStamps"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/stamps/{scorer_id}/score/{address}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the latest score of an address
         * @description Nothing has to be submitted first: a stale score is recomputed before the response. An address without Stamps has score `0.00000`. The first response with a score makes it part of the address's history. With `signed`, the record is signed for programs (`jwt`) or EVM contracts (`eip712`), so that others can verify it.
         */
        get: operations["getScore"];
        put?: never;
        /**
         * Read the latest score of an address, signed in answer to a challenge
         * @description As `GET` with `signed`, but made for one verifier at this moment: it holds the challenge, so an earlier answer does not pass for it. Counts as one request.
         */
        post: operations["signScore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/stamps/{scorer_id}/score/{address}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the last score returned before a moment
         * @description Only for keys approved for history. Only scores that were returned have a history.
         */
        get: operations["getScoreHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/stamps/{scorer_id}/scores": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read the scores of many addresses
         * @description Counts as one request, whatever the number of addresses, and adds nothing to the history. An entry that is not an address has an `error` object with its `index` instead of a score, and the others have theirs. With `strict=true` one such entry is 400: `invalid` lists up to 20 of them (`index`, `value`, `reason`), and `invalid_count` is their number.
         */
        post: operations["listScores"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/stamps/metadata": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the catalogue of Stamps
         * @description Allow lists and on-chain Stamps of the workspace that the catalogue does not name are platforms at its end.
         */
        get: operations["getCatalogue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @enum {string} */
        AboutBlank: "about:blank";
        /**
         * @description An EVM address in lower case, in upper case, or with its checksum (ERC-55). Responses use lower case.
         * @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1
         */
        Address: string;
        /**
         * @description A decimal number as text, with exactly five decimals.
         * @example 35.76600
         */
        Amount: string;
        /** @description Announcement of a request or a task to a room or to people, without saying which. */
        Announcement: {
            /** @description Time of the announcement. */
            at: components["schemas"]["Time"];
            /**
             * @description Name of a chat platform, or `push` for browser notifications.
             * @example slack
             */
            channel: string;
            /** @description Number of people; absent for a room. */
            count?: number;
            /** @description `room` or `people`. */
            kind: components["schemas"]["AnnouncementKind"];
        };
        /** @enum {string} */
        AnnouncementKind: "room" | "people";
        AnyObject: Record<string, never>;
        /**
         * @description Approval states (`docs/reference/behavior/proxy.md#approval-states`).
         * @enum {string}
         */
        ApprovalState: "pending" | "approved" | "denied" | "expired";
        /** @description The public form of a key. */
        AttestationKey: {
            active: boolean;
            /**
             * @description Of eip712.
             * @example 0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e
             */
            address?: string;
            /**
             * @description Unix seconds.
             * @example 1769850300
             */
            createdAt: number;
            /** @example 1 */
            id: number;
            /**
             * @description Of ed25519.
             * @example 0xd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a
             */
            publicKey?: string;
            /** @example null */
            retiredAt: number | null;
            scheme: components["schemas"]["SchemeName"];
        };
        AttestationKeys: {
            keys: components["schemas"]["AttestationKey"][];
        };
        /** @enum {string} */
        BodyEncoding: "utf-8" | "base64";
        /** @description One Stamp of the catalogue. */
        CatalogueStamp: {
            /**
             * @description Description of the holder, as the Stamp attests it.
             * @example Holds an established, active Discord account
             */
            description: string;
            /**
             * @description Keccak-256 of the name, `0x` and 64 lower-case hexadecimal digits.
             * @example 0x47024beb35c119cb9ca37d810b63c51b538c48fc98c7b88a52d78b633e5600df
             */
            hash: string;
            /**
             * @description The name used in credentials.
             * @example Discord
             */
            name: string;
        };
        /**
         * @description Channel that announces approvals.
         * @enum {string}
         */
        Channel: "agent_reflected" | "dashboard" | "chat_primary" | "chat_secondary" | "slack" | "discord" | "email" | "ntfy" | "teams" | "card";
        CredentialList: components["schemas"]["VerifiableCredential"][];
        CustomModelName: {
            file_sha256: string;
            name: string;
        };
        /** @description Record of a request that a person edited. */
        EditedRecord: {
            /** @description Digest of the request as its agent sent it. */
            asked_digest: string;
            /** @description Digest of the request as it was approved; null before that. */
            decided_digest: string | null;
            difference: components["schemas"]["RequestDifference"] | null;
            /** @description Digest of the request as it was sent; null before that. */
            sent_digest: string | null;
        };
        /** @enum {string} */
        EntryErrorCode: "invalid_address";
        /** @description An answer for EVM contracts; without a proof only `isUnique`, and `reason` if it is requested. */
        EvmAttestation: {
            domain?: components["schemas"]["TypedDomain"];
            isUnique: boolean;
            message?: components["schemas"]["TypedMessage"];
            reason?: components["schemas"]["VerificationReason"];
            /**
             * @description 65 bytes.
             * @example 0x3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e1b
             */
            signature?: string;
            /** @example 0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e */
            signer?: string;
        };
        ExplainedStamp: {
            contribution: components["schemas"]["Amount"];
            /** @description With an earlier weight: the time until which the Stamp keeps it. */
            kept_until?: components["schemas"]["Time"];
            reason: string;
            weight: components["schemas"]["Amount"];
        };
        /** @description An entry of the request that has no score. Its `error` is an object; that of a score record is null or a text. */
        FailedScore: {
            /**
             * @description The entry as it was sent, shortened to 100 characters.
             * @example 0x5a5a
             */
            address: string;
            error: components["schemas"]["FailedScoreReason"];
        };
        FailedScoreReason: {
            code: components["schemas"]["EntryErrorCode"];
            /** @example not an address: write 0x followed by 40 hex characters */
            detail: string;
            /**
             * @description Position in `addresses`, from 0.
             * @example 1
             */
            index: number;
        };
        /**
         * @description Reason that an approved request was not completed. `no_longer_allowed`: something changed between request and approval, and nothing was sent. `outcome_unknown`: it was sent and there was no response, so it may have been executed; it is not sent again. `upstream_error` and `upstream_timeout`: nothing was sent, the target refused the request before processing it, or the method was GET, HEAD or OPTIONS. With `upstream_status`, the response cannot be passed on.
         * @enum {string}
         */
        ForwardError: "upstream_error" | "upstream_timeout" | "no_longer_allowed" | "outcome_unknown";
        /** @description A header value that is not UTF-8. */
        HeaderBytes: {
            /** @description Position in `headers`, from 0. */
            index: number;
            /** @description Header name. */
            name: string;
            /** @description Value bytes, in base64. */
            value: string;
        };
        /**
         * @example [
         *       "content-type",
         *       "application/json"
         *     ]
         */
        HeaderPair: string[];
        /**
         * Format: uuid
         * @example 019c1234-5678-7abc-8def-0123456789ab
         */
        Id: string;
        IndexAnswer: {
            /**
             * @description Null if the index names none.
             * @example pyxis_1
             */
            attestationId?: string | null;
            reason?: components["schemas"]["VerificationReason"];
            result: boolean;
            /**
             * @description Unix seconds.
             * @example 1801386300
             */
            validUntil?: number;
        };
        /** @enum {string} */
        IngestStatus: "accepted" | "replaced" | "unchanged" | "rejected";
        /** @description A public key as JSON Web Keys are written (RFC 7517, RFC 7518). */
        JsonWebKey: {
            /** @example ES256 */
            alg: string;
            /** @example P-256 */
            crv: string;
            /**
             * @description The key's thumbprint (RFC 7638).
             * @example cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s
             */
            kid: string;
            /** @example EC */
            kty: string;
            /** @example sig */
            use: string;
            /**
             * @description Base64url of 32 bytes.
             * @example MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4
             */
            x: string;
            /**
             * @description Base64url of 32 bytes.
             * @example 4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM
             */
            y: string;
        };
        JsonWebKeySet: {
            keys: components["schemas"]["JsonWebKey"][];
        };
        /** @description A stored upstream response. */
        KeptResponse: {
            /** @description The body, as text or base64. */
            body: string;
            /** @description `utf-8` or `base64`. */
            body_encoding: components["schemas"]["BodyEncoding"];
            /** @description Names and values in order. A value that is not UTF-8 is read as ISO 8859-1, one character per byte, and also listed in `headers_base64`. */
            headers: components["schemas"]["HeaderPair"][];
            /** @description The values of `headers` that are not UTF-8, byte for byte. Absent if there are none. */
            headers_base64?: components["schemas"]["HeaderBytes"][];
            /** @description HTTP status. */
            status: number;
            /** @description True if the body is incomplete: longer than the limit (`PX_RESPONSE_MAX_BYTES`, 10 MiB), too slow, cut off, or deleted. */
            truncated: boolean;
        };
        /** @enum {string} */
        MethodName: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | "WEBSOCKET";
        MethodOutcome: {
            method: components["schemas"]["MethodName"];
            /** @description `proceeds`, `pauses` or `denied`. */
            outcome: components["schemas"]["MethodVerdict"];
        };
        /** @enum {string} */
        MethodVerdict: "proceeds" | "pauses" | "denied";
        /**
         * Format: date-time
         * @example 2026-01-31T09:05:00.250000+00:00
         */
        MicroTime: string;
        ModelFeature: {
            /**
             * Format: double
             * @description Change of the log odds, toward human if positive. For a custom model: the loss in its answer if this were unknown.
             */
            contribution: number;
            name: string;
            /**
             * Format: double
             * @description The wallet's value; null if unknown.
             */
            value: number | null;
            /** @description Description of the feature. */
            words: string;
        };
        ModelPart: {
            /** @description Only if a custom model answers. */
            custom?: components["schemas"]["CustomModelName"];
            /** @description Features that moved the score, strongest first. */
            features: components["schemas"]["ModelFeature"][];
            /** Format: double */
            score: number;
            /** @description True if it was trained on other chains, without labels of this activity. */
            transferred: boolean;
            /**
             * Format: double
             * @description Weight in this score, out of 1.
             */
            weight: number;
        };
        ModelScore: {
            address: string;
            details: components["schemas"]["ModelScores"];
            /** @description Only with `explain=true`. */
            explain?: components["schemas"]["ModelScoreExplanation"];
        };
        ModelScoreExplanation: {
            /** @description True if the wallet's counterparties are known; false for a wallet known only to an indexer. */
            company: boolean;
            /** @description SHA-256 that names the models. */
            fingerprint: string;
            /** @description Reason that there is no score; null if there is one. */
            missing: string | null;
            /** @description The models that the score comes from, by name. */
            models: {
                [key: string]: components["schemas"]["ModelPart"];
            };
            trained_at: string;
        };
        ModelScores: {
            /** @description The requested model, by its name. */
            models: {
                [key: string]: components["schemas"]["SingleScore"];
            };
        };
        /**
         * @description 1 to 64 letters, digits, dots, dashes or underscores, starting with a letter or digit.
         * @example github
         */
        Name: string;
        /**
         * @description Status of a transaction, as polled by its agent.
         * @example {
         *       "asked": [
         *         {
         *           "at": "2026-01-31T09:05:00.600Z",
         *           "channel": "slack",
         *           "kind": "room"
         *         }
         *       ],
         *       "created_at": "2026-01-31T09:05:00.250Z",
         *       "decided_at": "2026-01-31T09:07:30.125Z",
         *       "error": null,
         *       "expires_at": "2026-01-31T10:05:00.250Z",
         *       "reason": null,
         *       "response": {
         *         "body": "{\"number\":12}",
         *         "body_encoding": "utf-8",
         *         "headers": [
         *           [
         *             "content-type",
         *             "application/json"
         *           ]
         *         ],
         *         "status": 201,
         *         "truncated": false
         *       },
         *       "status": "approved",
         *       "txn_id": "019c1234-5678-7abc-8def-0123456789ab",
         *       "upstream_status": 201
         *     }
         */
        Outcome: {
            /** @description Rooms and people that were asked, oldest first, without saying which. */
            asked: components["schemas"]["Announcement"][];
            /** @description Time of the request. */
            created_at: components["schemas"]["Time"];
            decided_at: components["schemas"]["Time"] | null;
            /** @description With `error`: the same in a sentence; as long as a response is kept. */
            detail?: string;
            /** @description Changes that a person made to the request before approving it. Absent if no one edited it. */
            edited?: components["schemas"]["EditedRecord"];
            error: components["schemas"]["ForwardError"] | null;
            /** @description End of the approval window. */
            expires_at: components["schemas"]["Time"];
            /** @description Time at which more people or another room are asked. Absent if none are to come. */
            next_step_at?: components["schemas"]["Time"];
            /** @description The approver's reason for a denial. */
            reason: string | null;
            response: components["schemas"]["KeptResponse"] | null;
            /** @description `pending`, `approved`, `denied` or `expired`. */
            status: components["schemas"]["ApprovalState"];
            /** @description Transaction id. */
            txn_id: components["schemas"]["Id"];
            /** @description Status of the target's response. */
            upstream_status: number | null;
            /**
             * Format: uri
             * @description With `error`, if a person can fix it: the page on which the account is connected again.
             * @example https://pyxis.example.org/app/credentials/github
             */
            url?: string;
        };
        /** @enum {string} */
        PageVersion: "1.0.0";
        /**
         * @description The 202 response: the request is pending, or approved and being sent.
         * @example {
         *       "agent_hint": "A person must approve this POST request to api.github.com. Ask them to open https://pyxis.example.org/approve/019c1234-5678-7abc-8def-0123456789ab",
         *       "approval_url": "https://pyxis.example.org/approve/019c1234-5678-7abc-8def-0123456789ab",
         *       "expires_at": "2026-01-31T10:05:00.250Z",
         *       "expires_in": 3600,
         *       "notification_channel": "agent_reflected",
         *       "poll_url": "https://pyxis.example.org/agent/approvals/019c1234-5678-7abc-8def-0123456789ab",
         *       "status": "pending",
         *       "txn_id": "019c1234-5678-7abc-8def-0123456789ab"
         *     }
         */
        Paused: {
            /**
             * @description One sentence that the agent can show to its user.
             * @example A person must approve this POST request to api.github.com.
             */
            agent_hint: string;
            /**
             * Format: uri
             * @description URL of the approval page.
             * @example https://pyxis.example.org/approve/019c1234-5678-7abc-8def-0123456789ab
             */
            approval_url: string;
            /** @description End of the approval window. */
            expires_at: components["schemas"]["Time"];
            /**
             * @description Seconds until `expires_at`.
             * @example 3600
             */
            expires_in: number;
            /** @description Channel that announced the approval. */
            notification_channel: components["schemas"]["Channel"];
            /**
             * Format: uri
             * @description URL at which the agent polls for the outcome.
             * @example https://pyxis.example.org/agent/approvals/019c1234-5678-7abc-8def-0123456789ab
             */
            poll_url: string;
            /** @description `pending` or `approved`. */
            status: components["schemas"]["ApprovalState"];
            /** @description Transaction id. */
            txn_id: components["schemas"]["Id"];
        };
        /** @description A place where an account or an activity is verified. Its JSON form is an entry of the catalogue. */
        Platform: {
            /**
             * @description Prompt for a person who starts.
             * @example Connect your Discord account.
             */
            connectMessage: string;
            /**
             * @description Description of what is verified there.
             * @example An established Discord account
             */
            description: string;
            /** @description Its Stamps, by kind. */
            groups: components["schemas"]["PlatformGroup"][];
            /**
             * @description Path or URL of an image.
             * @example /assets/stamps/Discord.svg
             */
            icon: string;
            /**
             * @description Permanent name without spaces.
             * @example Discord
             */
            id: string;
            /**
             * @description Display name.
             * @example Discord
             */
            name: string;
            /** @description Page where its Stamps are issued, an https URL. */
            url?: string;
        };
        /** @description Stamps of one kind. */
        PlatformGroup: {
            /**
             * @description Display name.
             * @example Account
             */
            name: string;
            /** @description Stamps in display order. */
            stamps: components["schemas"]["CatalogueStamp"][];
        };
        /** @description The platform without its groups. */
        PlatformHead: {
            connectMessage: string;
            description: string;
            icon: string;
            id: string;
            name: string;
        };
        /** @description The body of a problem, RFC 9457. Match on `code`; `detail` is for people and may change. */
        Problem: {
            /** @description What an agent should do next, in words that it can show. */
            agent_action?: string;
            /** @description Stable; the same as in the header `PX-Error`. */
            code: string;
            /** @description The fault, in one sentence. */
            detail: string;
            /** @description With `invalid_field`: the place of the invalid value. */
            field?: string;
            /** @description With `locked`. */
            locked_until?: components["schemas"]["Time"];
            /** @description With `denied_by_policy`: the matching pattern. */
            pattern?: string | null;
            /** @description With `approval_denied`: the approver's reason. */
            reason?: string | null;
            request_id?: components["schemas"]["Id"];
            /** @description With `changed`: the revision in force. */
            revision?: number;
            /** @description With `already_decided`: the transaction's state. */
            state?: string;
            status: number;
            /** @description With a refused header: the headers that exist. */
            supported?: string;
            /** @description The status in words. */
            title: string;
            /** @description With `approval_denied` and `approval_expired`. */
            txn_id?: components["schemas"]["Id"];
            type: components["schemas"]["AboutBlank"];
            /** @description With `passkey_required`: the page of the ceremony. With `reauthorization_required`: where to connect the account. */
            url?: components["schemas"]["Uri"];
        };
        PublishedScoreKey: {
            /** @description Signer of typed data. */
            address?: string;
            /**
             * @description `kid` of tokens.
             * @example cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s
             */
            kid?: string;
            scheme: components["schemas"]["ScoreKeySchemeName"];
            signs_from: components["schemas"]["Time"];
            signs_until: components["schemas"]["Time"] | null;
            trusted_until: components["schemas"]["Time"] | null;
        };
        PublishedScoreKeys: {
            domain: components["schemas"]["ScoreDomain"];
            /**
             * @description `iss` of tokens.
             * @example https://pyxis.example.org
             */
            issuer: string;
            /** @description Newest first within each scheme. */
            keys: components["schemas"]["PublishedScoreKey"][];
        };
        RemovedStamps: {
            removed: number;
        };
        /** @description Difference between two requests to the same URL path with the same method and credential. */
        RequestDifference: {
            /** @description Unified diff of two text bodies that are not both JSON, or that are the same as JSON. Absent if they are equal. */
            body_diff?: string;
            /** @description JSON Patch (RFC 6902) that makes the new body of the old one. Absent if one of them is not JSON, and if they are the same. */
            body_patch?: Record<string, never>[];
            /** @description Headers that differ. For a header whose name marks it as secret, only the length of each value is told. */
            headers: components["schemas"]["ValueChange"][];
            /** @description Query parameters that differ. */
            query: components["schemas"]["ValueChange"][];
        };
        /** @enum {string} */
        SchemeName: "ed25519" | "eip712";
        /**
         * @description A score, as [`stored_to_json`] writes it.
         * @example {
         *       "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
         *       "error": null,
         *       "expiration_timestamp": "2026-05-01T09:00:00.000000+00:00",
         *       "last_score_timestamp": "2026-01-31T09:05:00.250000+00:00",
         *       "passing_score": true,
         *       "score": "32.78300",
         *       "stamps": {
         *         "Discord": {
         *           "dedup": false,
         *           "expiration_date": "2026-05-01T09:00:00.000000+00:00",
         *           "score": "0.51600"
         *         },
         *         "ETHScore#50": {
         *           "dedup": false,
         *           "expiration_date": "2026-05-08T09:00:00.000000+00:00",
         *           "score": "16.02100"
         *         },
         *         "NFTScore#50": {
         *           "dedup": false,
         *           "expiration_date": "2026-05-08T09:00:00.000000+00:00",
         *           "score": "16.24600"
         *         }
         *       },
         *       "threshold": "20.00000"
         *     }
         */
        Score: {
            address: components["schemas"]["Address"];
            /** @description With `signed=eas`: the attestation, as EAS' SDK verifies it. */
            attestation?: components["schemas"]["AnyObject"];
            /**
             * @description Null, unless the score could be computed only in part.
             * @example null
             */
            error: string | null;
            expiration_timestamp: components["schemas"]["Time"] | null;
            explain?: components["schemas"]["ScoreExplanation"];
            /** @description With `signed=jwt`. */
            jwt?: string;
            last_score_timestamp: components["schemas"]["MicroTime"];
            /** @description True if the score is at least the threshold. */
            passing_score: boolean;
            score: components["schemas"]["Amount"];
            /** @description With `signed=eip712`: 65 bytes in hex. */
            signature?: string;
            /** @description With `signed=eip712`: the address of the key. */
            signer?: string;
            /** @description By name. */
            stamps: {
                [key: string]: components["schemas"]["StampScore"];
            };
            threshold: components["schemas"]["Amount"];
            /** @description With `signed=eas`: `to`, `data` and `value` of a transaction that attests the score on chain. */
            transaction?: components["schemas"]["AnyObject"];
            /** @description With `signed=eip712`: domain, types and message, as wallets and libraries take them. */
            typed_data?: components["schemas"]["AnyObject"];
        };
        /** @description Domain of typed data. Chain and contract are added where a request names them. */
        ScoreDomain: {
            /** @example Pyxis Score */
            name: string;
            /** @example 1 */
            version: string;
        };
        ScoreEntries: {
            items: components["schemas"]["ScoreEntry"][];
        };
        /** @description An item of the response. */
        ScoreEntry: components["schemas"]["Score"] | components["schemas"]["FailedScore"];
        /** @description With `explain=true`. */
        ScoreExplanation: {
            /** @description Amount by which the score passes, or falls short (negative). */
            margin: string;
            /** @description Revision of the scorer's weights and threshold. */
            revision: number;
            stamps: {
                [key: string]: components["schemas"]["ExplainedStamp"];
            };
            threshold: components["schemas"]["Amount"];
            valid_until: components["schemas"]["Time"] | null;
        };
        /** @enum {string} */
        ScoreKeySchemeName: "es256" | "eip712";
        Scores: {
            items: components["schemas"]["Score"][];
        };
        ScoresRequest: {
            addresses: string[];
        };
        /** @description A credential that the agent may use. */
        Service: {
            /** @description Hosts allowed in a target. */
            allowed_hosts: string[];
            credential: components["schemas"]["Name"];
            description: string;
            /** @description Outcome by method, unless a URL rule applies. */
            methods: components["schemas"]["MethodOutcome"][];
            /** @description True if the policy requires `X-PX-Reason`. */
            reason_required: boolean;
            /** @description Example of a target. */
            target_example: string | null;
            /** @description URL rules, applied before method rules. */
            url_rules: components["schemas"]["UrlRules"];
        };
        Services: {
            /** @description Name of the agent that the key belongs to. */
            agent: string;
            services: components["schemas"]["Service"][];
        };
        /** @description Body of a request for a score that answers a challenge. */
        SignedScoreRequest: {
            /** @description Recipient of a token (`aud`): 1 to 256 bytes of printable ASCII. */
            audience?: string;
            /** @description Text that the verifier made up for this request: 1 to 256 bytes of printable ASCII. It is the token's `nonce`, or `challenge` of the typed data. */
            challenge: string;
        };
        SingleScore: {
            /** Format: double */
            score: number;
        };
        StampItem: {
            /** @description Byte for byte as received. */
            credential: components["schemas"]["VerifiableCredential"];
            metadata?: components["schemas"]["StampMetadata"] | null;
            version: components["schemas"]["PageVersion"];
        };
        /** @description The catalogue's entry for a Stamp. */
        StampMetadata: {
            description: string;
            group: string;
            hash: string;
            name: string;
            /** @description The platform without its groups. */
            platform: components["schemas"]["PlatformHead"];
        };
        StampOutcome: {
            /** @description With `rejected`. */
            error?: components["schemas"]["StampRejection"];
            /** @description The Stamp, if the credential was accepted. */
            provider?: string;
            status: components["schemas"]["IngestStatus"];
        };
        StampOutcomes: {
            items: components["schemas"]["StampOutcome"][];
        };
        StampPage: {
            items: components["schemas"]["StampItem"][];
            /**
             * @description Token of the page with older Stamps; null at the end.
             * @example null
             */
            next: string | null;
            /**
             * @description Token of the page with newer Stamps; null at the start.
             * @example null
             */
            prev: string | null;
        };
        StampRejection: {
            /** @description The check that failed. */
            code: string;
            detail: string;
            /** @description Position of the credential in the request, from 0. */
            index: number;
        };
        StampScore: {
            /** @description True if another address verified the same credential first. Then the Stamp contributes 0. */
            dedup: boolean;
            /** @description Expiry of the credential; with `dedup`, that of the other address's credential. */
            expiration_date: components["schemas"]["Time"];
            /**
             * @description Contribution of the Stamp, with five decimals.
             * @example 0.51600
             */
            score: string;
        };
        /**
         * Format: date-time
         * @example 2026-01-31T09:05:00.250Z
         */
        Time: string;
        TypedDomain: {
            /** @example 10 */
            chainId: number;
            /** @example Pyxis Attestation */
            name: string;
            /** @example 1 */
            version: string;
        };
        TypedMessage: {
            /** @example 123456789 */
            actionId: string;
            /** @example 1769850900 */
            expiresAt: number;
            /** @example 1769850300 */
            issuedAt: number;
            /** @example gov-id */
            kind: string;
            /** @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1 */
            recipient: string;
        };
        /**
         * Format: uri
         * @example https://pyxis.example.org/
         */
        Uri: string;
        /** @description URL rules, applied before method rules. */
        UrlRules: {
            /** @description Rules about the bodies of requests that would proceed. */
            content: string[];
            denied: string[];
            pauses: string[];
            proceeds: string[];
        };
        /** @description Values of one query parameter or header, before and after. */
        ValueChange: {
            /** @description Values of the edited request, in order; empty if they were removed. */
            after: string[];
            /** @description Values of the agent's request, in order; empty if it had none. */
            before: string[];
            /** @description Name. */
            name: string;
        };
        /**
         * @description A Verifiable Credential of version 1.
         * @example {
         *       "@context": [
         *         "https://www.w3.org/2018/credentials/v1"
         *       ],
         *       "credentialSubject": {
         *         "@context": {
         *           "nullifiers": {
         *             "@container": "@list",
         *             "@type": "https://schema.org/Text"
         *           },
         *           "provider": "https://schema.org/Text"
         *         },
         *         "id": "did:pkh:eip155:1:0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
         *         "nullifiers": [
         *           "member:4711"
         *         ],
         *         "provider": "Member"
         *       },
         *       "expirationDate": "2026-05-01T09:05:00.250Z",
         *       "issuanceDate": "2026-01-31T09:05:00.250Z",
         *       "issuer": "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e",
         *       "proof": {
         *         "@context": "https://w3id.org/security/suites/eip712sig-2021/v1",
         *         "created": "2026-01-31T09:05:00.250Z",
         *         "eip712Domain": {
         *           "domain": {
         *             "name": "VerifiableCredential"
         *           },
         *           "primaryType": "Document",
         *           "types": {
         *             "CredentialSubject": [
         *               {
         *                 "name": "@context",
         *                 "type": "SubjectContext"
         *               },
         *               {
         *                 "name": "id",
         *                 "type": "string"
         *               },
         *               {
         *                 "name": "nullifiers",
         *                 "type": "string[]"
         *               },
         *               {
         *                 "name": "provider",
         *                 "type": "string"
         *               }
         *             ],
         *             "Document": [
         *               {
         *                 "name": "@context",
         *                 "type": "string[]"
         *               },
         *               {
         *                 "name": "type",
         *                 "type": "string[]"
         *               },
         *               {
         *                 "name": "credentialSubject",
         *                 "type": "CredentialSubject"
         *               },
         *               {
         *                 "name": "issuer",
         *                 "type": "string"
         *               },
         *               {
         *                 "name": "issuanceDate",
         *                 "type": "string"
         *               },
         *               {
         *                 "name": "expirationDate",
         *                 "type": "string"
         *               },
         *               {
         *                 "name": "proof",
         *                 "type": "Proof"
         *               }
         *             ],
         *             "EIP712Domain": [
         *               {
         *                 "name": "name",
         *                 "type": "string"
         *               }
         *             ],
         *             "NullifiersContext": [
         *               {
         *                 "name": "@container",
         *                 "type": "string"
         *               },
         *               {
         *                 "name": "@type",
         *                 "type": "string"
         *               }
         *             ],
         *             "Proof": [
         *               {
         *                 "name": "@context",
         *                 "type": "string"
         *               },
         *               {
         *                 "name": "type",
         *                 "type": "string"
         *               },
         *               {
         *                 "name": "proofPurpose",
         *                 "type": "string"
         *               },
         *               {
         *                 "name": "verificationMethod",
         *                 "type": "string"
         *               },
         *               {
         *                 "name": "created",
         *                 "type": "string"
         *               }
         *             ],
         *             "SubjectContext": [
         *               {
         *                 "name": "nullifiers",
         *                 "type": "NullifiersContext"
         *               },
         *               {
         *                 "name": "provider",
         *                 "type": "string"
         *               }
         *             ]
         *           }
         *         },
         *         "proofPurpose": "assertionMethod",
         *         "proofValue": "0x3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f1b",
         *         "type": "EthereumEip712Signature2021",
         *         "verificationMethod": "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e#controller"
         *       },
         *       "type": [
         *         "VerifiableCredential"
         *       ]
         *     }
         */
        VerifiableCredential: Record<string, never>;
        /**
         * @description With `explain=true`.
         * @enum {string}
         */
        VerificationReason: "none" | "expired" | "revoked" | "rebound" | "other_action" | "other_issuer" | "blocked" | "valid";
        VerificationResult: {
            /**
             * @description Unix seconds; only if `result` is true and the source has an expiry.
             * @example 1801386300
             */
            expirationDate?: number;
            reason?: components["schemas"]["VerificationReason"];
            result: boolean;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getScoreTokenKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JsonWebKeySet"];
                };
            };
        };
    };
    getScoreKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublishedScoreKeys"];
                };
            };
        };
    };
    pollApproval: {
        parameters: {
            query?: {
                /**
                 * @description Seconds to wait for the outcome; values above 60 count as 60.
                 * @example 30
                 */
                wait?: number;
            };
            header?: never;
            path: {
                /** @description The transaction, as the 202 names it. */
                txn_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current state. */
            200: {
                headers: {
                    /** @description Always `no-store`. */
                    "Cache-Control"?: string;
                    /** @description Seconds to wait before the next poll; absent once the outcome is final. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "asked": [
                     *         {
                     *           "at": "2026-01-31T09:05:00.250Z",
                     *           "channel": "slack",
                     *           "kind": "room"
                     *         }
                     *       ],
                     *       "created_at": "2026-01-31T09:05:00.250Z",
                     *       "decided_at": "2026-01-31T09:06:12.004Z",
                     *       "error": null,
                     *       "expires_at": "2026-01-31T10:05:00.250Z",
                     *       "reason": null,
                     *       "response": {
                     *         "body": "{\"number\":42}",
                     *         "body_encoding": "utf-8",
                     *         "headers": [
                     *           [
                     *             "content-type",
                     *             "application/json"
                     *           ]
                     *         ],
                     *         "status": 201,
                     *         "truncated": false
                     *       },
                     *       "status": "approved",
                     *       "txn_id": "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11",
                     *       "upstream_status": 201
                     *     }
                     */
                    "application/json": components["schemas"]["Outcome"];
                };
            };
        };
    };
    withdrawRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The transaction, as the 202 names it. */
                txn_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Withdrawn; the transaction has expired. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listServices: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Each with its allowed hosts and the outcome of requests by method and URL. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "agent": "default-agent",
                     *       "services": [
                     *         {
                     *           "allowed_hosts": [
                     *             "api.github.com"
                     *           ],
                     *           "credential": "github",
                     *           "description": "Issues of the main repository",
                     *           "methods": [
                     *             {
                     *               "method": "GET",
                     *               "outcome": "proceeds"
                     *             },
                     *             {
                     *               "method": "POST",
                     *               "outcome": "pauses"
                     *             }
                     *           ],
                     *           "reason_required": false,
                     *           "target_example": "https://api.github.com/",
                     *           "url_rules": {
                     *             "content": [],
                     *             "denied": [],
                     *             "pauses": [
                     *               "/repos/*\/*\/hooks"
                     *             ],
                     *             "proceeds": []
                     *           }
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Services"];
                };
            };
        };
    };
    checkCleanHands: {
        parameters: {
            query?: {
                /** @description `true` adds `reason`. */
                explain?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description An EVM or Sui address.
                 * @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1
                 */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IndexAnswer"];
                };
            };
        };
    };
    attestForEvm: {
        parameters: {
            query: {
                /**
                 * @description A decimal number from 1 to below the order of the bn254 scalar field; `123456789` gives uniqueness across applications. There is no default.
                 * @example 123456789
                 */
                "action-id": string;
                /** @description `true` adds `reason`. */
                explain?: boolean;
                /**
                 * @description `0x` and 40 hexadecimal digits in any case; a checksum is not required.
                 * @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1
                 */
                user: string;
            };
            header?: never;
            path: {
                credential_type: "gov-id" | "epassport" | "phone" | "biometrics" | "residence-us" | "clean-hands";
                /**
                 * @description Name of a network.
                 * @example optimism
                 */
                network: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvmAttestation"];
                };
            };
        };
    };
    listAttestationKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A key that is not active signs no longer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttestationKeys"];
                };
            };
        };
    };
    forward: {
        parameters: {
            query?: never;
            header: {
                /** @description Requests with the same key happen once and have the same outcome for 24 hours. 1 to 255 bytes. */
                "Idempotency-Key"?: string;
                /**
                 * @description `wait=N` (RFC 7240) holds the connection for a decision, at most 60 seconds. Other preferences are ignored.
                 * @example wait=30
                 */
                Prefer?: string;
                /**
                 * @description Name of the credential.
                 * @example github
                 */
                "X-PX-Credential": string;
                /** @description Method of the upstream request, in any case. CONNECT and TRACE are refused. */
                "X-PX-Method"?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
                /**
                 * @description Reason, for the approver. At most 1024 bytes. A policy can require it.
                 * @example Open an issue about the failing build
                 */
                "X-PX-Reason"?: string;
                /**
                 * @description Full target URL with its query. `https`, or `http` if the credential allows it; no user name, no control characters. A fragment is dropped.
                 * @example https://api.github.com/user
                 */
                "X-PX-Target": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The body for the target, with its own `Content-Type`. Streamed if no approval is needed; otherwise stored, up to `PX_PENDING_BODY_MAX_BYTES` (10 MiB). */
        requestBody?: {
            content: {
                "*/*": unknown;
            };
        };
        responses: {
            /** @description Approval is needed. The header `PX-Txn` distinguishes this from a target's own 202. */
            202: {
                headers: {
                    /** @description Always `no-store`. */
                    "Cache-Control"?: string;
                    /** @description The same as `poll_url`. */
                    Location?: components["schemas"]["Uri"];
                    /** @description The transaction. */
                    "PX-Txn"?: components["schemas"]["Id"];
                    /** @description Seconds after which to ask again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "agent_hint": "A person must approve this POST request to api.github.com. Ask them to open https://pyxis.example.org/approve/7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11",
                     *       "approval_url": "https://pyxis.example.org/approve/7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11",
                     *       "expires_at": "2026-01-31T10:05:00.250Z",
                     *       "expires_in": 3600,
                     *       "notification_channel": "agent_reflected",
                     *       "poll_url": "https://pyxis.example.org/agent/approvals/7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11",
                     *       "status": "pending",
                     *       "txn_id": "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11"
                     *     }
                     */
                    "application/json": components["schemas"]["Paused"];
                };
            };
        };
    };
    checkResidence: {
        parameters: {
            query: {
                /** @description `true` adds `reason`. */
                explain?: boolean;
                /**
                 * @description `0x` and 40 hexadecimal digits in any case; a checksum is not required.
                 * @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1
                 */
                user: string;
            };
            header?: never;
            path: {
                country: "us";
                /**
                 * @description Name of a network.
                 * @example optimism
                 */
                network: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer; it names no expiry. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationResult"];
                };
            };
        };
    };
    checkSybilResistance: {
        parameters: {
            query: {
                /**
                 * @description A decimal number from 1 to below the order of the bn254 scalar field; `123456789` gives uniqueness across applications. There is no default.
                 * @example 123456789
                 */
                "action-id": string;
                /** @description `true` adds `reason`. */
                explain?: boolean;
                /**
                 * @description `0x` and 40 hexadecimal digits in any case; a checksum is not required.
                 * @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1
                 */
                user: string;
            };
            header?: never;
            path: {
                credential_type: "gov-id" | "epassport" | "phone" | "biometrics";
                /**
                 * @description Name of a network.
                 * @example optimism
                 */
                network: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationResult"];
                };
            };
        };
    };
    getModelScore: {
        parameters: {
            query?: {
                /** @description Explain the score, in a member `explain`: the models it comes from with their weights, and for each the features that moved it. */
                explain?: boolean;
                /** @description Name of one model. */
                model?: "aggregate" | "ethereum_activity" | "nft" | "arbitrum" | "base" | "optimism" | "polygon" | "zksync";
            };
            header?: never;
            path: {
                /** @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1 */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The score; -1 means too little data. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
                     *       "details": {
                     *         "models": {
                     *           "aggregate": {
                     *             "score": 87.42
                     *           }
                     *         }
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ModelScore"];
                };
            };
        };
    };
    listStamps: {
        parameters: {
            query?: {
                /** @description Add `metadata` to each item. */
                include_metadata?: boolean;
                /** @description Stamps on a page. */
                limit?: number;
                /** @description `next` or `prev` of an earlier response. */
                token?: string;
            };
            header?: never;
            path: {
                /** @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1 */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page; empty if there are no Stamps. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StampPage"];
                };
            };
        };
    };
    addStamps: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1 */
                address: string;
            };
            cookie?: never;
        };
        /** @description Verifiable Credentials with a proof `EthereumEip712Signature2021` or `Ed25519Signature2018`, at most 200 and 4 MiB. `proof` is one proof or a list of up to 8; one valid proof of the issuer is enough. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CredentialList"];
            };
        };
        responses: {
            /** @description The outcome of each credential, in the order of the request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "provider": "Discord",
                     *           "status": "accepted"
                     *         },
                     *         {
                     *           "error": {
                     *             "code": "unknown_issuer",
                     *             "detail": "the issuer did:ethr:0x0000000000000000000000000000000000000001 is not trusted here",
                     *             "index": 1
                     *           },
                     *           "status": "rejected"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["StampOutcomes"];
                };
            };
        };
    };
    removeStamps: {
        parameters: {
            query: {
                /** @description The name of a Stamp, with `#` written `%23`. May be repeated. */
                provider: string;
            };
            header?: never;
            path: {
                /** @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1 */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Number of Stamps that were removed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "removed": 1
                     *     }
                     */
                    "application/json": components["schemas"]["RemovedStamps"];
                };
            };
        };
    };
    getScore: {
        parameters: {
            query?: {
                /** @description With `signed=eip712` or `eas`: the chain of the contract that will verify the signature. */
                chain_id?: number;
                /** @description Explain the score, in a member `explain`. */
                explain?: boolean;
                /** @description With `signed=eas`: UID of the schema, if it is registered with a resolver or cannot be revoked. */
                schema?: string;
                /** @description Sign the score: as a token (`jwt`), as typed data for EVM contracts (`eip712`), or as an attestation of EAS (`eas`). */
                signed?: "jwt" | "eip712" | "eas";
                /** @description With `chain_id`: the contract that will verify the signature. No other contract accepts it. */
                verifying_contract?: string;
            };
            header?: never;
            path: {
                /** @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1 */
                address: string;
                /**
                 * @description The scorer's number.
                 * @example 1
                 */
                scorer_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The score record. With `signed=jwt` and `Accept: application/jwt`, the token alone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
                     *       "error": null,
                     *       "expiration_timestamp": "2026-05-01T09:00:00.000000+00:00",
                     *       "last_score_timestamp": "2026-01-31T09:00:00.000000+00:00",
                     *       "passing_score": true,
                     *       "score": "22.59800",
                     *       "stamps": {
                     *         "Discord": {
                     *           "dedup": false,
                     *           "expiration_date": "2026-05-01T09:00:00.000000+00:00",
                     *           "score": "0.51600"
                     *         },
                     *         "NFTScore#50": {
                     *           "dedup": true,
                     *           "expiration_date": "2026-07-01T12:30:00.000000+00:00",
                     *           "score": "0.00000"
                     *         }
                     *       },
                     *       "threshold": "20.00000"
                     *     }
                     */
                    "application/json": components["schemas"]["Score"];
                };
            };
        };
    };
    signScore: {
        parameters: {
            query: {
                /** @description With `signed=eip712` or `eas`: the chain of the contract that will verify the signature. */
                chain_id?: number;
                /**
                 * @description Form of the signature: a token (`jwt`), or typed data for EVM contracts (`eip712`).
                 * @example jwt
                 */
                signed: "jwt" | "eip712";
                /** @description With `chain_id`: the contract that will verify the signature. No other contract accepts it. */
                verifying_contract?: string;
            };
            header?: never;
            path: {
                /** @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1 */
                address: string;
                /**
                 * @description The scorer's number.
                 * @example 1
                 */
                scorer_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "challenge": "b3f1c2"
                 *     }
                 */
                "application/json": components["schemas"]["SignedScoreRequest"];
            };
        };
        responses: {
            /** @description The score record with its signature. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Score"];
                };
            };
        };
    };
    getScoreHistory: {
        parameters: {
            query: {
                /** @description Strictly before this moment. Formats: `YYYY-MM-DD`, the start of that day in UTC, or `YYYY-MM-DDThh:mm:ss.sssZ`, a time in UTC. It has 0 to 9 digits of a second, and `Z` or `+00:00`. Every time in a response has one of these forms. */
                created_at: string;
            };
            header?: never;
            path: {
                /** @example 0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1 */
                address: string;
                /**
                 * @description The scorer's number.
                 * @example 1
                 */
                scorer_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One record, or none if no score was returned earlier. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Scores"];
                };
            };
        };
    };
    listScores: {
        parameters: {
            query?: {
                /** @description Refuse the whole request if one entry is invalid, instead of reporting that entry in its place. */
                strict?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description The scorer's number.
                 * @example 1
                 */
                scorer_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "addresses": [
                 *         "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ScoresRequest"];
            };
        };
        responses: {
            /** @description An item for each address, in the order of the request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScoreEntries"];
                };
            };
        };
    };
    getCatalogue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every platform with its Stamps. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Platform"][];
                };
            };
        };
    };
}
