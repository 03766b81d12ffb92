import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PagingError } from "../../../src/paging/errors.ts";
import { isPublicAddress, parseAllowRanges } from "../../../src/paging/fetch/address.ts";
import {
	checkedConnect,
	SafeFetch,
	type SafeFetchOptions,
} from "../../../src/paging/fetch/safe-fetch.ts";
import { type HostileWeb, startHostileWeb } from "../../support/hostile-web.ts";
import { atEnd } from "../../support/temp.ts";
import { LIMITS } from "./limits.ts";

/** What must not be reached: servers on every loopback address this machine has, and `PORT` stands for theirs. */
let web: HostileWeb;

beforeAll(async () => {
	web = await startHostileWeb();
});

afterAll(() => web.close());

async function refusalOf(
	url: string,
	options: Partial<SafeFetchOptions> = {},
): Promise<PagingError> {
	const safe = new SafeFetch({
		allowRanges: [],
		userAgent: "test/1",
		...LIMITS,
		...options,
	});
	atEnd(() => safe.close());
	const error = await safe.fetch(new URL(url.replace("PORT", String(web.port)))).then(
		() => new Error(`${url} was reached`),
		(reason: unknown) => reason,
	);
	if (!(error instanceof PagingError)) throw error;
	return error;
}

const answering =
	(...addresses: string[]) =>
	async () =>
		addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

describe("with nothing allowed", () => {
	test.each([
		"http://127.0.0.1:PORT/ok",
		"http://127.0.0.2:PORT/ok",
		"http://127.1:PORT/ok",
		"http://127.0.1:PORT/ok",
		"http://2130706433:PORT/ok",
		"http://0x7f000001:PORT/ok",
		"http://0x7f.0.0.1:PORT/ok",
		"http://0x7f.1:PORT/ok",
		"http://0177.0.0.1:PORT/ok",
		"http://017700000001:PORT/ok",
		"http://127.0.0.1.:PORT/ok",
		"http://①②⑦.⓪.⓪.①:PORT/ok",
		"http://１２７.０.０.１:PORT/ok",
		"http://127。0。0。1:PORT/ok",
		"http://%31%32%37.0.0.1:PORT/ok",
		"http://user@127.0.0.1:PORT/ok",
		"http://example.com@127.0.0.1:PORT/ok",
		"http:\\\\127.0.0.1:PORT\\ok",
		"http:127.0.0.1:PORT/ok",
		"http://127.0.0.1:PORT#@example.com/",
		"https://127.0.0.1:PORT/ok",
		"http://[::1]:PORT/ok",
		"http://[0:0:0:0:0:0:0:1]:PORT/ok",
		"http://[::ffff:127.0.0.1]:PORT/ok",
		"http://[::ffff:7f00:1]:PORT/ok",
		"http://[::127.0.0.1]:PORT/ok",
		"http://[::ffff:0:127.0.0.1]:PORT/ok",
		"http://[64:ff9b::127.0.0.1]:PORT/ok",
		"http://[2002:7f00:1::]:PORT/ok",
		"http://[::]:PORT/ok",
		"http://0.0.0.0:PORT/ok",
		"http://0:PORT/ok",
		"http://0x0:PORT/ok",
		"http://localhost:PORT/ok",
		"http://LOCALHOST:PORT/ok",
		"http://ｌｏｃａｌｈｏｓｔ:PORT/ok",
		"http://10.0.0.1/",
		"http://172.16.0.1/",
		"http://192.168.1.1/",
		"http://169.254.169.254/latest/meta-data/",
		"http://[fd00:ec2::254]/latest/meta-data/",
		"http://100.64.0.1/",
		"http://100.100.100.200/",
		"http://198.18.0.1/",
		"http://192.0.0.192/",
		"http://224.0.0.1/",
		"http://255.255.255.255/",
		"http://[fe80::1]/",
		"http://[fc00::1]/",
		"http://[ff02::1]/",
	])("%s is not reached", async (url) => {
		const { code, message } = await refusalOf(url);
		expect(code).toBe("address_refused");
		expect(message).toContain("paging.allowRanges");
		expect(message).toContain("strata.json");
		expect(web.connections).toBe(0);
	});

	test.each(["http://localhost.:PORT/ok", "http://a.localhost:PORT/ok"])(
		"%s is not reached, whether or not the system resolves it",
		async (url) => {
			expect(["address_refused", "network"]).toContain((await refusalOf(url)).code);
			expect(web.connections).toBe(0);
		},
	);

	test.each([
		"file:///etc/passwd",
		"ftp://8.8.8.8/",
		"data:,x",
		"gopher://8.8.8.8/",
		"ws://8.8.8.8/",
	])("%s has the wrong scheme", async (url) => {
		expect((await refusalOf(url)).code).toBe("unsupported_scheme");
	});

	test.each([1, 22, 25, 6000, 6667, 10080])("port %i is another service's", async (port) => {
		const { code, message } = await refusalOf(`http://8.8.8.8:${port}/`);
		expect(code).toBe("address_refused");
		expect(message).toContain(`port ${port}`);
	});

	test.each([
		["loopback", answering("127.0.0.1")],
		["IPv6 loopback", answering("::1")],
		["a mapped address", answering("::ffff:127.0.0.1")],
		["nowhere", answering("0.0.0.0")],
		["a public and a private address", answering("8.8.8.8", "127.0.0.1")],
		["a private and a public address", answering("127.0.0.1", "8.8.8.8")],
		["a public and a local IPv6 address", answering("8.8.8.8", "fe80::1%eth0")],
	])("a name that resolves to %s is not reached", async (_what, resolve) => {
		for (const scheme of ["http", "https"]) {
			const { code, message } = await refusalOf(`${scheme}://evil.test:PORT/ok`, { resolve });
			expect(code).toBe("address_refused");
			expect(message).toContain("evil.test has the address ");
		}
		expect(web.connections).toBe(0);
	});
});

describe("a server that may be reached", () => {
	const allowRanges = parseAllowRanges(["127.0.0.2/32"]);
	let reachable: HostileWeb;

	// Linux and Windows have all of 127/8; macOS has 127.0.0.1 alone unless told otherwise.
	const hasSecondLoopback = process.platform !== "darwin";

	beforeAll(async () => {
		if (hasSecondLoopback) reachable = await startHostileWeb({ host: "127.0.0.2" });
	});

	afterAll(() => reachable?.close());

	const suite = describe.skipIf(!hasSecondLoopback);

	suite("redirecting", () => {
		test.each([
			"http://127.0.0.1:PORT/ok",
			"//127.0.0.1:PORT/ok",
			"http://2130706433:PORT/ok",
			"http://0x7f.1:PORT/ok",
			"http://[::ffff:127.0.0.1]:PORT/ok",
			"http://[::1]:PORT/ok",
			"http://localhost:PORT/ok",
			"http://①②⑦.0.0.1:PORT/ok",
			"http://0.0.0.0:PORT/ok",
			"http://169.254.169.254/",
		])("to %s does not lead there", async (target) => {
			const to = encodeURIComponent(target.replace("PORT", String(web.port)));
			const error = await refusalOf(`${reachable.origin}/to?url=${to}`, { allowRanges });
			expect(error.code).toBe("address_refused");
			expect(web.connections).toBe(0);
		});
	});

	suite("under a name", () => {
		test("that changes its answer to loopback is not followed there", async () => {
			const answers = ["127.0.0.2", "127.0.0.1"];
			const asked: string[] = [];
			const resolve = async (hostname: string) => {
				asked.push(hostname);
				return [{ address: answers.shift() ?? "127.0.0.1", family: 4 }];
			};
			// The second hop has another port, hence another connection and another question.
			const to = encodeURIComponent(`http://rebinding.test:${web.port}/ok`);
			const url = `http://rebinding.test:${reachable.port}/to?url=${to}`;
			const error = await refusalOf(url, { allowRanges, resolve });
			expect(error.code).toBe("address_refused");
			expect(asked).toEqual(["rebinding.test", "rebinding.test"]);
			expect(web.connections).toBe(0);
		});

		test("is resolved once a connection: what was checked is what is connected to", async () => {
			let times = 0;
			const resolve = async () => {
				times++;
				return [{ address: times === 1 ? "127.0.0.2" : "127.0.0.1", family: 4 }];
			};
			const safe = new SafeFetch({ allowRanges, resolve, userAgent: "test/1", ...LIMITS });
			atEnd(() => safe.close());
			const page = await safe.fetch(new URL(`http://rebinding.test:${reachable.port}/ok`));
			expect(page.kind).toBe("fetched");
			expect(times).toBe(1);
			expect(reachable.requests.at(-1)?.headers.host).toBe(`rebinding.test:${reachable.port}`);
		});
	});
});

describe("a connection", () => {
	const isAllowed = (address: string) => isPublicAddress(address, []);
	const options = { hostname: "name.test", protocol: "http:", port: "80" };

	/** A connector that was led astray and hands over a socket to this address. */
	function connectTo(remoteAddress: string | undefined) {
		const socket = {
			remoteAddress,
			destroyed: false,
			destroy() {
				socket.destroyed = true;
			},
		};
		const connect = checkedConnect(
			(_options, callback) => callback(null, socket as unknown as Socket),
			isAllowed,
		);
		const outcome = new Promise<Socket>((resolve, reject) =>
			connect(options, (error, made) => (error ? reject(error) : resolve(made as Socket))),
		);
		return { socket, outcome };
	}

	test.each(["127.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0"])(
		"that turns out to be to %s is ended before anything is sent",
		async (address) => {
			const { socket, outcome } = connectTo(address);
			await expect(outcome).rejects.toMatchObject({ code: "address_refused" });
			expect(socket.destroyed).toBe(true);
		},
	);

	test("that is gone already is an error", async () => {
		const { socket, outcome } = connectTo(undefined);
		await expect(outcome).rejects.toMatchObject({ code: "network" });
		expect(socket.destroyed).toBe(true);
	});

	test("to a public address is handed on", async () => {
		const { socket, outcome } = connectTo("8.8.8.8");
		expect(await outcome).toBe(socket);
		expect(socket.destroyed).toBe(false);
	});

	test("that fails keeps its error", async () => {
		const lost = new Error("lost");
		const connect = checkedConnect((_options, callback) => callback(lost, null), isAllowed);
		const outcome = new Promise((resolve) => connect(options, (...[error]) => resolve(error)));
		expect(await outcome).toBe(lost);
	});
});
