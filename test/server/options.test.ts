import { describe, expect, test } from "vitest";
import { DEFAULT_LIMITS, limitsFrom } from "../../src/server/limits.ts";
import { checkedOptions, type ServerOptions } from "../../src/server/options.ts";

const TLS = { cert: "cert", key: "key" };
const base: ServerOptions = {
	dataDir: "/data",
	agentDir: "/agent",
	cwd: "/",
	demo: "never",
	allowProjectTrust: false,
	auth: { tokenFile: "/data/tokens" },
	origins: [],
	limits: { ...DEFAULT_LIMITS },
	warn() {},
};

describe("options of a server", () => {
	test.each<[string, Partial<ServerOptions>, string | undefined]>([
		["loopback with a token", { listen: at("127.0.0.1") }, undefined],
		["loopback without", { listen: at("::1"), auth: "none" }, undefined],
		["a socket without", { socketPath: "/s", auth: "none" }, undefined],
		["all addresses with TLS and a token", { listen: { ...at("0.0.0.0"), tls: TLS } }, undefined],
		["nothing at all", {}, "nothing to listen on"],
		["all addresses without TLS", { listen: at("0.0.0.0") }, "needs --tls-cert and --tls-key"],
		[
			"all addresses without a token",
			{ listen: { ...at("::"), tls: TLS }, auth: "none" },
			"--auth none is allowed only for loopback",
		],
		[
			"a name of the network",
			{ listen: at("box.lan"), auth: "none" },
			"--auth none is allowed only for loopback",
		],
		["a database and an address for others", shared("wss://one.example.org:3141/"), undefined],
		["a database and loopback", shared(undefined, "127.0.0.1"), undefined],
		["a database and no address for others", shared(), "cannot reach this one at 0.0.0.0"],
		["an address for others that is none", shared("one:3141"), 'got "one:3141"'],
		["one that leads nowhere", shared("wss://[::]:3141/"), "--advertise must be an address"],
		["one with a password", shared("wss://ann:secret-word@one/"), "no user and no password"],
		["a wrong origin", { listen: at("127.0.0.1"), origins: ["*"] }, 'origin "*"'],
	])("%s", (_name, options, fault) => {
		const check = () => checkedOptions({ ...base, ...options });
		if (fault === undefined) check();
		else expect(check).toThrow(fault);
	});
});

describe("limits", () => {
	test("are the defaults, with those replaced that are named", () => {
		expect(limitsFrom([])).toEqual(DEFAULT_LIMITS);
		expect(limitsFrom(["maxSessions=5", "drainMs=10"])).toEqual({
			...DEFAULT_LIMITS,
			maxSessions: 5,
			drainMs: 10,
		});
	});

	test.each([
		["maxSesions=5", 'did you mean "maxSessions"?'],
		["__proto__=5", 'unknown limit "__proto__"'],
		["maxSessions", "must be a whole number"],
		["maxSessions=0", "must be a whole number"],
		["maxSessions=1.5", "must be a whole number"],
		["maxSessions=many", 'got "many"'],
	])("%s is refused", (assignment, fault) => {
		expect(() => limitsFrom([assignment])).toThrow(fault);
	});
});

function shared(advertise?: string, host = "0.0.0.0"): Partial<ServerOptions> {
	const address = { url: "postgres://h/d", description: "h/d" };
	const database = { address, ...(advertise !== undefined && { advertise }) };
	return { listen: { ...at(host), tls: TLS }, database };
}

function at(host: string) {
	return { host, port: 0 };
}
