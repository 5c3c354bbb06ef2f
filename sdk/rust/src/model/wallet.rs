//! Model scores of wallets.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Result};

/// Models by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Model {
    #[default]
    Aggregate,
    EthereumActivity,
    Nft,
    Arbitrum,
    Base,
    Optimism,
    Polygon,
    Zksync,
}

impl Model {
    /// Every model.
    pub const ALL: [Self; 8] = [
        Self::Aggregate,
        Self::EthereumActivity,
        Self::Nft,
        Self::Arbitrum,
        Self::Base,
        Self::Optimism,
        Self::Polygon,
        Self::Zksync,
    ];

    /// The name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aggregate => "aggregate",
            Self::EthereumActivity => "ethereum_activity",
            Self::Nft => "nft",
            Self::Arbitrum => "arbitrum",
            Self::Base => "base",
            Self::Optimism => "optimism",
            Self::Polygon => "polygon",
            Self::Zksync => "zksync",
        }
    }
}

/// A model's score of a wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelScore {
    pub address: String,
    pub model: Model,
    /// 0 (likely Sybil) to 100 (likely human); `None` if there is too little data.
    pub score: Option<Decimal>,
}

/// The response of the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelScoreResponse {
    address: String,
    details: ModelScores,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ModelScores {
    models: BTreeMap<String, SingleScore>,
}

/// The number as it is written, so that it never becomes a float.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SingleScore {
    score: Box<RawValue>,
}

impl ModelScoreResponse {
    /// The score of one model. -1, too little data, becomes `None`.
    pub(crate) fn score_of(&self, model: Model) -> Result<ModelScore> {
        let name = model.name();
        let refuse =
            |rest| Error::InvalidResponse(format!("the response has no score of the model {name}{rest}"));
        let single = self.details.models.get(name).ok_or_else(|| refuse(""))?;
        let text = single.score.get();
        let score: Decimal = text.parse().map_err(|_| refuse(" that is a number"))?;
        let score = (!score.is_sign_negative()).then_some(score);
        Ok(ModelScore { address: self.address.clone(), model, score })
    }
}
