import { describe, expect, test } from "vitest";
import { isPublicAddress, parseAllowRanges, rangeOf } from "../../../src/paging/fetch/address.ts";
import { fc } from "../../support/property.ts";

const PUBLIC = [
	"1.1.1.1",
	"8.8.8.8",
	"9.255.255.255",
	"11.0.0.0",
	"100.63.255.255",
	"100.128.0.0",
	"126.255.255.255",
	"128.0.0.0",
	"169.253.255.255",
	"172.15.255.255",
	"172.32.0.0",
	"192.167.255.255",
	"192.169.0.0",
	"198.17.255.255",
	"198.20.0.0",
	"223.255.255.255",
	"2606:4700:4700::1111",
	"2001:4860:4860::8888",
	"2a00:1450:4001:81b::200e",
	"::ffff:8.8.8.8",
	"::ffff:808:808",
];

const SPECIAL = [
	"0.0.0.0",
	"0.1.2.3",
	"10.0.0.1",
	"10.255.255.255",
	"100.64.0.1",
	"100.127.255.255",
	"127.0.0.1",
	"127.255.255.254",
	"169.254.169.254",
	"172.16.0.1",
	"172.31.255.255",
	"192.0.0.1",
	"192.0.0.170",
	"192.0.2.1",
	"192.31.196.1",
	"192.52.193.1",
	"192.88.99.1",
	"192.168.0.1",
	"192.175.48.1",
	"198.18.0.1",
	"198.19.255.255",
	"198.51.100.1",
	"203.0.113.1",
	"224.0.0.1",
	"239.255.255.255",
	"240.0.0.1",
	"255.255.255.255",
	"::",
	"::1",
	"0:0:0:0:0:0:0:1",
	"::127.0.0.1",
	"::10.0.0.1",
	"::8.8.8.8",
	"::ffff:127.0.0.1",
	"::ffff:7f00:1",
	"::FFFF:10.0.0.1",
	"::ffff:169.254.169.254",
	"::ffff:0:127.0.0.1",
	"64:ff9b::7f00:1",
	"64:ff9b::808:808",
	"64:ff9b:1::1",
	"100::1",
	"100:0:0:1::1",
	"2001::1",
	"2001:2::1",
	"2001:3::1",
	"2001:10::1",
	"2001:20::1",
	"2001:db8::1",
	"2002:7f00:1::",
	"2002:808:808::1",
	"3fff::1",
	"4000::1",
	"5f00::1",
	"fc00::1",
	"fd12:3456:789a::1",
	"fe80::1",
	"fe80::1%eth0",
	"fe80::1%eth0.100",
	"fec0::1",
	"ff02::1",
	"ff0e::1",
];

const NOT_AN_ADDRESS = [
	"",
	"localhost",
	"example.com",
	"127.1",
	"2130706433",
	"0x7f.0.0.1",
	"0177.0.0.1",
	"8.8.8.8.8",
	"8.8.8.8 ",
	"[2606:4700:4700::1111]",
	"1.1.1.1/32",
	"%eth0",
];

const none = parseAllowRanges([]);

describe("without allowed ranges", () => {
	test.each(PUBLIC)("%s is public", (address) => {
		expect(isPublicAddress(address, none)).toBe(true);
	});

	test.each(SPECIAL)("%s is not public", (address) => {
		expect(isPublicAddress(address, none)).toBe(false);
	});

	test.each(NOT_AN_ADDRESS)("%j is no address, so it is not public", (address) => {
		expect(isPublicAddress(address, none)).toBe(false);
	});

	test("a mapped IPv4 address is judged like the IPv4 address", () => {
		fc.assert(
			fc.property(fc.ipV4(), (address) => {
				expect(isPublicAddress(`::ffff:${address}`, none)).toBe(isPublicAddress(address, none));
			}),
		);
	});

	test("no text makes it throw", () => {
		fc.assert(
			fc.property(
				fc.oneof(
					fc.string(),
					fc.ipV6(),
					fc.ipV6().map((it) => `${it}%zone-1`),
				),
				(it) => {
					expect(typeof isPublicAddress(it, none)).toBe("boolean");
				},
			),
		);
	});
});

describe("with allowed ranges", () => {
	const ranges = parseAllowRanges(["10.1.0.0/16", "fd00::/8", "192.168.1.5/32", "fe80::/10"]);

	test.each([
		"10.1.0.1",
		"10.1.255.255",
		"::ffff:10.1.2.3",
		"fd12::1",
		"192.168.1.5",
		"fe80::1%eth0",
		"8.8.8.8",
	])("%s may be reached", (address) => {
		expect(isPublicAddress(address, ranges)).toBe(true);
	});

	test.each(["10.2.0.1", "192.168.1.6", "fc00::1", "127.0.0.1", "::1", "::10.1.0.1"])(
		"%s stays refused",
		(address) => {
			expect(isPublicAddress(address, ranges)).toBe(false);
		},
	);

	test.each(["0.0.0.0/0", "::/0"])("%s covers its own family only", (range) => {
		const all = parseAllowRanges([range]);
		expect(isPublicAddress("127.0.0.1", all)).toBe(range === "0.0.0.0/0");
		expect(isPublicAddress("::1", all)).toBe(range === "::/0");
	});

	test.each(SPECIAL)("%s is allowed by the range that stands for it alone", (address) => {
		expect(isPublicAddress(address, parseAllowRanges([rangeOf(address)]))).toBe(true);
	});
});

describe("a list of ranges", () => {
	test.each([
		"",
		"10.0.0.0",
		"10.0.0.0/33",
		"10.0.0.0/-1",
		"10.0.0.0/",
		"10.0.0.0/8/8",
		"10.0.0.0/0x8",
		"10/8",
		"010.0.0.0/8",
		"fd00::/129",
		"fe80::%eth0/10",
		"intranet/8",
		" 10.0.0.0/8",
	])("with %j is refused by an error that names it and shows how to write one", (bad) => {
		expect(() => parseAllowRanges(["127.0.0.0/8", bad])).toThrow(JSON.stringify(bad));
		expect(() => parseAllowRanges([bad])).toThrow('"10.0.0.0/8"');
	});

	test("with a mapped IPv4 range is refused, since it would never match", () => {
		expect(() => parseAllowRanges(["::ffff:10.0.0.0/104"])).toThrow("write 10.0.0.0");
	});
});
