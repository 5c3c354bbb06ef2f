//! Headers as explorers and their exports write them; the rows are made up.

use super::super::Reader;
use super::*;

const A: &str = "0x00000000000000000000000000000000000000aa";
const B: &str = "0x00000000000000000000000000000000000000Bb";
const C: &str = "0x00000000000000000000000000000000000000cc";
const AT: u32 = 1_675_155_900;

fn open(text: &str) -> Reader {
    Reader::new(Box::new(std::io::Cursor::new(text.to_owned().into_bytes()))).unwrap()
}

/// The layout and the one transfer of a file.
fn one(text: &str) -> (Layout, Moved) {
    let mut reader = open(text);
    let layout = reader.layout().clone();
    match (reader.next(), reader.next()) {
        (Some(Ok(Ok(ActivityRecord::Transfer(moved)))), None) => (layout, moved),
        other => panic!("{text}: {other:?}"),
    }
}

fn column<'a>(layout: &'a Layout, role: &str) -> Option<&'a str> {
    layout.used.iter().find(|(of, _)| *of == role).map(|(_, name)| name.as_str())
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of headers")]
fn exports_of_explorers_and_databases_are_read_with_their_times() {
    let files = [
        // An explorer's list of transactions, its list of calls, and of tokens.
        (
            "\"Transaction Hash\",\"Blockno\",\"UnixTimestamp\",\"DateTime (UTC)\",\"From\",\"To\",\"ContractAddress\",\
             \"Value_IN(ETH)\",\"Value_OUT(ETH)\",\"Status\",\"Method\"\n\
             \"0x1\",\"5\",\"{unix}\",\"{text}\",\"{a}\",\"{b}\",\"\",\"0\",\"1.5\",\"\",\"Transfer\"",
            "UnixTimestamp",
            Kind::Native,
            Some(true),
        ),
        (
            "Transaction Hash,Status,Method,Blockno,DateTime (UTC),From,From_Nametag,To,To_Nametag,Amount,Value (USD)\n\
             0x1,Success,Transfer,5,{text},{a},,{b},Somebody,1.5 ETH,$2400",
            "DateTime (UTC)",
            Kind::Native,
            Some(true),
        ),
        (
            "Txhash,Blockno,UnixTimestamp,DateTime (UTC),ParentTxFrom,ParentTxTo,ParentTxETH_Value,From,TxTo,\
             ContractAddress,Value_IN(ETH),Value_OUT(ETH),Type\n0x1,5,{unix},{text},{c},{c},7,{a},{b},,1.2345,0,call",
            "UnixTimestamp",
            Kind::Internal,
            Some(false),
        ),
        (
            "Transaction Hash,Blockno,UnixTimestamp,DateTime (UTC),From,To,TokenValue,USDValueDayOfTx,ContractAddress,\
             TokenName,TokenSymbol\n0x1,5,{unix},{text},{a},{b},\"1,250.5\",N/A,{c},Coin,COIN",
            "UnixTimestamp",
            Kind::Erc20,
            Some(false),
        ),
        (
            "Transaction Hash,Blockno,UnixTimestamp,DateTime (UTC),From,To,ContractAddress,TokenId,TokenName,TokenSymbol\n\
             0x1,5,{unix},{text},{a},{b},{c},77,Cats,CAT",
            "UnixTimestamp",
            Kind::Nft,
            None,
        ),
        // The other family of explorers, which writes a text under `UnixTimestamp`.
        (
            "TxHash,BlockNumber,UnixTimestamp,FromAddress,ToAddress,ContractAddress,Type,Value,Fee,Status,ErrCode\n\
             0x1,5,{text}.000000Z,{a},{b},,OUT,1500000000000000000,21000,ok,",
            "UnixTimestamp",
            Kind::Native,
            Some(true),
        ),
        // API responses of both, converted to CSV.
        (
            "blockNumber,timeStamp,hash,from,to,value,contractAddress,isError\n5,{unix},0x1,{a},{b},1500000000000000000,,0",
            "timeStamp",
            Kind::Native,
            Some(true),
        ),
        // Query services and warehouses.
        (
            "block_time,block_number,hash,type,from,to,value\n{text}.000 UTC,5,0x1,DynamicFee,{a},{b},1.5e18",
            "block_time",
            Kind::Native,
            Some(true),
        ),
        (
            "blockchain,block_month,block_date,block_time,tx_hash,token_standard,tx_from,tx_to,from,to,\
             contract_address,symbol,amount_raw,amount,amount_usd\n\
             ethereum,2023-01-01,2023-01-31,{text},0x1,erc721,{c},{c},{a},{b},{c},CAT,1,1,",
            "block_time",
            Kind::Nft,
            Some(true),
        ),
        (
            "contract_address,evt_tx_hash,evt_index,evt_block_time,evt_block_number,from,to,value\n\
             {c},0x1,3,{text},5,{a},{b},101",
            "evt_block_time",
            Kind::Native,
            Some(false),
        ),
        (
            "token_address,from_address,to_address,value,transaction_hash,log_index,block_timestamp,block_number\n\
             {c},{a},{b},101,0x1,3,{text} UTC,5",
            "block_timestamp",
            Kind::Erc20,
            Some(false),
        ),
        (
            "block_signed_at,tx_hash,from_address,to_address,value\n{iso},0x1,{a},{b},101",
            "block_signed_at",
            Kind::Native,
            Some(false),
        ),
        (
            "BLOCK_TIMESTAMP,TX_HASH,FROM_ADDRESS,TO_ADDRESS,AMOUNT\n{text}.000,0x1,{a},{b},101",
            "BLOCK_TIMESTAMP",
            Kind::Native,
            Some(false),
        ),
        (
            "hash,from,to,value,category,metadata.blockTimestamp\n0x1,{a},{b},1.5,erc20,{iso}",
            "metadata.blockTimestamp",
            Kind::Erc20,
            Some(true),
        ),
        ("Date Time,From,To\n{text},{a},{b}", "Date Time", Kind::Native, None),
        ("timestamp_ms,From,To\n{unix}000,{a},{b}", "timestamp_ms", Kind::Native, None),
        ("\u{feff}from,to,Unix Time\n{a},{b},{unix}", "Unix Time", Kind::Native, None),
    ];
    for (file, time, kind, round) in files {
        let text = file
            .replace("{a}", A)
            .replace("{b}", B)
            .replace("{c}", C)
            .replace("{unix}", &AT.to_string())
            .replace("{text}", "2023-01-31 09:05:00")
            .replace("{iso}", "2023-01-31T09:05:00Z");
        let (layout, moved) = one(&text);
        assert_eq!((moved.from.0[19], moved.to.0[19], moved.chain), (0xaa, 0xbb, Chain::Ethereum), "{file}");
        assert_eq!(moved.time.map(NonZeroU32::get), Some(AT), "{file}");
        assert_eq!((moved.kind, moved.round), (kind, round), "{file}");
        assert_eq!(column(&layout, "time"), Some(time), "{file}");
        assert!(!layout.lacks_time(), "{file}");
    }
}

#[test]
fn a_column_whose_time_could_be_another_is_not_read_and_named() {
    for name in [
        "DateTime (PST)",
        "Date Time (Local)",
        "time (GMT+2)",
        "DateTime (UTC-5)",
        "Age",
        "created_at",
        "inserted_at",
        "Zeit",
        "block_number",
        "nonce",
    ] {
        let (layout, moved) = one(&format!("from,to,{name}\n{A},{B},{AT}"));
        assert_eq!(moved.time, None, "{name}");
        assert_eq!(layout.ignored, [name]);
        assert!(layout.lacks_time(), "{name}");
    }
}

#[test]
fn of_several_times_the_best_is_read_and_the_others_are_named() {
    let (layout, moved) =
        one(&format!("from,date,to,block_date,UnixTimestamp,DateTime (UTC)\n{A},x,{B},x,{AT},x"));
    assert_eq!(moved.time.map(NonZeroU32::get), Some(AT));
    assert_eq!(column(&layout, "time"), Some("UnixTimestamp"));
    assert_eq!(layout.ignored, ["date", "block_date", "DateTime (UTC)"]);
    let (layout, _) = one(&format!("from,to,timestamp,time\n{A},{B},x,{AT}"));
    assert_eq!((column(&layout, "time"), &layout.ignored[..]), (Some("time"), &["timestamp".to_owned()][..]));
}

#[test]
fn a_chain_may_be_its_id_and_a_kind_its_standard() {
    for (name, chain) in [
        ("1", Chain::Ethereum),
        ("10", Chain::Optimism),
        ("100", Chain::Gnosis),
        ("137", Chain::Polygon),
        ("324", Chain::Zksync),
        ("8453", Chain::Base),
        ("42161", Chain::Arbitrum),
        ("Polygon", Chain::Polygon),
    ] {
        for column in ["chain", "network", "blockchain", "chain_id", "chainId"] {
            assert_eq!(one(&format!("from,to,{column}\n{A},{B},{name}")).1.chain, chain, "{column} {name}");
        }
    }
    for (name, kind) in [
        ("ERC-20", Kind::Erc20),
        ("erc721", Kind::Nft),
        ("ERC1155", Kind::Nft),
        ("native", Kind::Native),
        ("Call", Kind::Call),
    ] {
        for column in ["kind", "type", "token_standard", "category"] {
            assert_eq!(one(&format!("from,to,{column}\n{A},{B},{name}")).1.kind, kind, "{column} {name}");
        }
    }
    for (column, value) in [("chain", "moon"), ("chain_id", "5"), ("kind", "in"), ("type", "moon")] {
        let found = open(&format!("from,to,{column}\n{A},{B},{value}")).next().unwrap().unwrap();
        let why = found.unwrap_err();
        assert!(why.contains(value) && why.contains("known"), "{column}: {why}");
    }
}

#[test]
fn a_transfer_to_nobody_made_the_contract_beside_it() {
    let made = one(&format!("From,To,ContractAddress\n{A},,{C}")).1;
    assert_eq!(made.to.0[19], 0xcc);
    let kept = one(&format!("From,To,ContractAddress\n{A},{B},{C}")).1;
    assert_eq!(kept.to.0[19], 0xbb);
    // For a token, the contract is the token.
    let text = format!("From,To,ContractAddress,TokenSymbol\n{A},,{C},COIN");
    assert!(open(&text).next().unwrap().unwrap().unwrap_err().starts_with("to: "));
}

#[test]
fn every_bad_address_of_a_line_is_named_with_its_value() {
    let why = |text: String| open(&text).next().unwrap().unwrap().unwrap_err();
    let both = why("from,to\nnobody,0x12".to_owned());
    assert!(both.contains("from: \"nobody\"") && both.contains("to: \"0x12\""), "{both}");
    assert!(why(format!("from,to\n{A},vitalik.eth")).starts_with("to: \"vitalik.eth\""));
    let bytes = A.replace("0x", "\\x");
    assert_eq!(one(&format!("from,to\n{bytes},{B}")).1.from.0[19], 0xaa);
}

#[test]
fn a_time_that_cannot_be_read_is_named_with_the_forms_that_can() {
    let mut reader = open(&format!("from,to,time\n{A},{B},01/02/2023 09:05\n{A},{B},\n"));
    let why = reader.next().unwrap().unwrap().unwrap_err();
    assert!(why.contains("01/02/2023 09:05") && why.contains("Unix seconds"), "{why}");
    assert!(reader.next().unwrap().unwrap().is_ok());
}
