//! Ports of well-known protocols that are not HTTP.

/// True if `port` belongs to a protocol into which an HTTP request could be smuggled. Also true for databases,
/// queues and desktops, which no stored credential should reach. Similar to the Fetch standard's "bad ports", with
/// our own list.
pub(super) const fn is_refused(port: u16) -> bool {
    matches!(
        port,
        0 | 1 // reserved, tcpmux
        | 7 | 9 | 11 | 13 | 15 | 17 | 19 // echo, discard, systat, daytime, netstat, qotd, chargen
        | 20..=23 // ftp, ssh, telnet
        | 25 | 465 | 587 // mail submission
        | 37 | 42 | 43 | 49 | 53 // time, nameserver, whois, tacacs, dns
        | 69 | 70 | 77 | 79 | 87 | 88 // tftp, gopher, rje, finger, ttylink, kerberos
        | 95 | 101 ..= 104 | 109 ..= 111 | 113 | 115 | 117 | 119 // old mail, pop, rpcbind, ident, nntp
        | 123 | 135 | 137 ..= 139 | 143 // ntp, msrpc, netbios, imap
        | 161 | 162 | 177 | 179 | 194 // snmp, xdmcp, bgp, irc
        | 389 | 427 | 445 | 464 // ldap, slp, smb, kpasswd
        | 500 | 512 ..= 515 | 526 | 530 ..= 532 | 540 | 543 | 544 | 548 | 554 | 556 | 563 // r-services, afp, rtsp
        | 601 | 623 | 631 | 636 | 646 | 660 | 666 // syslog, ipmi, ipp, ldaps
        | 853 | 860 | 873 | 902 // dns over tls, iscsi, rsync, hypervisor
        | 989 | 990 | 992 ..= 995 // ftps, telnets, imaps, pop3s
        | 1080 | 1099 | 1194 // socks, rmi, vpn
        | 1433 | 1434 | 1521 | 1701 | 1719 | 1720 | 1723 | 1812 | 1813 | 1883 // sql, h.323, vpn, radius, mqtt
        | 2049 | 2181 // nfs, zookeeper
        | 3260 | 3268 | 3269 | 3306 | 3389 | 3478 | 3659 // iscsi, ldap, mysql, rdp, stun
        | 4045 | 4190 | 4369 | 4500 // nfs lock, sieve, erlang, ipsec
        | 5060 | 5061 | 5222 | 5269 | 5349 | 5353 | 5355 // sip, xmpp, turn, mdns, llmnr
        | 5432 | 5671 | 5672 | 5800 ..= 5803 | 5900 ..= 5903 // postgres, amqp, vnc
        | 6000 ..= 6063 | 6379 | 6380 | 6514 | 6566 | 6660 ..= 6669 | 6697 // x11, redis, syslog, sane, irc
        | 8883 | 9042 | 9092 | 9418 // mqtts, cassandra, kafka, git
        | 10050 | 10051 | 10080 | 11211 // zabbix, amanda, memcached
        | 26379 | 27017 ..= 27019 | 33060 // redis sentinel, mongodb, mysql x
    )
}

/// True for ports of mail servers.
pub(super) const fn is_mail(port: u16) -> bool {
    matches!(port, 25 | 465 | 587)
}
