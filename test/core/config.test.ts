import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Check } from "typebox/schema";
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from "vitest";
import { type Config, describeConfig, loadConfig } from "../../src/core/config.ts";
import { matchesAny } from "../../src/core/glob.ts";
import { accepts, configJsonSchema, settings } from "../../src/core/settings.ts";
import { fc, runs } from "../support/property.ts";

let root: string;
let agentDir: string;
let cwd: string;

beforeEach(() => {
	root = mkdtempSync(join(tmpdir(), "strata-config-"));
	agentDir = join(root, "agent");
	cwd = join(root, "project");
	mkdirSync(agentDir);
	mkdirSync(join(cwd, ".pi"), { recursive: true });
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

type Label = "pi-kota.json" | "strata.json" | "project pi-kota.json" | "project strata.json";

const LABELS: Label[] = [
	"pi-kota.json",
	"strata.json",
	"project pi-kota.json",
	"project strata.json",
];

function pathOf(label: Label): string {
	return label.startsWith("project ")
		? join(cwd, ".pi", label.slice("project ".length))
		: join(agentDir, label);
}

/** Writes the files and loads: a string or bytes as they are, anything else as JSON. In warnings, labels stand for paths. */
function load(files: Partial<Record<Label, unknown>> = {}) {
	for (const label of LABELS) {
		const content = files[label];
		if (content === undefined) continue;
		const raw = typeof content === "string" || content instanceof Uint8Array;
		writeFileSync(pathOf(label), raw ? content : JSON.stringify(content));
	}
	const loaded = loadConfig({ agentDir, cwd });
	return { ...loaded, warnings: loaded.warnings.map(withLabel) };
}

function withLabel(warning: string): string {
	const label = LABELS.find((label) => warning.startsWith(`${pathOf(label)}: `));
	return label ? label + warning.slice(pathOf(label).length) : warning;
}

/** Lists in lists as text: JSON.stringify itself cannot write them this deep. */
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

describe("defaults", () => {
	test("without files every setting has its default and nothing is said", () => {
		const loaded = load();
		expect(loaded.warnings).toEqual([]);
		for (const { value, origin, key } of describeConfig(loaded)) {
			const row = settings.find((candidate) => candidate.key === key);
			expect({ key, value, origin }).toEqual({
				key,
				value: row?.setting.default,
				origin: "default",
			});
		}
	});

	test("the defaults of kota, prune and blobs are the ones its specification gives", () => {
		const { kota, prune, blobs } = load().config;
		expect({ kota, prune, blobs }).toEqual({
			kota: {
				enabled: true,
				toolset: "core",
				autoContext: "off",
				confirmIndex: true,
				command: "bun",
				args: ["x", "kotadb@next", "--stdio", "--toolset", "core"],
				// Ours:
				maxAnswerBytes: 5000,
				offerWhole: true,
				engine: "embedded",
				timeoutSeconds: 120,
				typeChecker: "",
			},
			prune: {
				enabled: true,
				keepRecentTurns: 2,
				maxToolChars: 1200,
				adaptive: true,
				pinImpactSummaries: true,
			},
			blobs: {
				enabled: true,
				scope: "all",
				dir: "~/.pi/cache/pi-kota/blobs",
				maxBytes: 262144000,
				maxAgeDays: 14,
			},
		});
	});

	test("the files that the read cache's specification calls sensitive are excluded", () => {
		expect(load().config.readcache.exclude).toEqual(
			expect.arrayContaining([".env*", "*.pem", "*.key", "*.p12"]),
		);
	});

	test("files that usually hold secrets are excluded, sources that deal with them are not", () => {
		const { exclude } = load().config.readcache;
		const excluded = (paths: string[]) =>
			paths.filter((path) => matchesAny(exclude, `/home/me/app/${path}`, "linux"));
		const secret = [
			...[".env", ".env.local", ".envrc", "prod.env", "prod.tfvars", "a.auto.tfvars.json"],
			...["terraform.tfstate", "terraform.tfstate.backup", "service-account.json"],
			...["service_account_prod.json", "my-serviceAccount-key.json", "token.txt", "tokens.txt"],
			...["github-token.txt", "npm.token", "credentials.json", "credentials-prod.json"],
			...["application_default_credentials.json", "client_secret_123.json", "secrets.yml"],
			...["secrets.yaml", "secrets.json", "secrets.toml", ".netrc", "_netrc", ".pgpass"],
			...[".htpasswd", ".npmrc", ".pypirc", ".dockercfg", ".docker/config.json", "kubeconfig"],
			...[".kube/config", ".aws/credentials", ".git-credentials", "db.kdbx", "a.jks"],
			...["a.keystore", "a.p12", "a.pfx", "a.ppk", "id_rsa", "id_ed25519", "key.gpg"],
			...["private-key.asc", "vault.yml", "vault-prod.yaml", ".vault-token", "server.key"],
		];
		expect(excluded(secret)).toEqual(secret);
		const sources = [
			...["token.ts", "tokens.ts", "tokens.json", "credentials.ts", "secrets.ts", "secret.go"],
			...["service-account.ts", "env.ts", "environment.ts", "vault.ts", "auth.ts", "keys.ts"],
			...["package.json", "config.json", "tokenizer.json", "kubeconfig.go", "README.md"],
			...["docs/tokens.md", "variables.tf", "signature.asc", "password.ts"],
		];
		expect(excluded(sources)).toEqual([]);
	});

	test.each(settings)("the default of $key satisfies its own rule", ({ setting }) => {
		expect(accepts(setting, setting.default)).toBe(true);
	});

	test("the type of a value follows from its row in the table", () => {
		expectTypeOf<Config["prune"]["keepRecentTurns"]>().toEqualTypeOf<number>();
		expectTypeOf<Config["prune"]["enabled"]>().toEqualTypeOf<boolean>();
		expectTypeOf<Config["readcache"]["mode"]>().toEqualTypeOf<"on" | "shadow" | "off">();
		expectTypeOf<Config["readcache"]["maxDiffRatio"]>().toEqualTypeOf<number>();
		expectTypeOf<Config["readcache"]["exclude"]>().toEqualTypeOf<readonly string[]>();
		expectTypeOf<Config["kota"]["command"]>().toEqualTypeOf<string>();
	});
});

describe("merging", () => {
	test("later files win key by key, and each value knows its origin", () => {
		const loaded = load({
			"pi-kota.json": { prune: { keepRecentTurns: 3, maxToolChars: 3, adaptive: false } },
			"strata.json": { prune: { keepRecentTurns: 4, maxToolChars: 4 }, blobs: { maxBytes: 4 } },
			"project pi-kota.json": { prune: { keepRecentTurns: 5 }, blobs: { enabled: true } },
			"project strata.json": { prune: { pinImpactSummaries: false }, blobs: { enabled: false } },
		});
		expect(loaded.warnings).toEqual([]);
		expect(loaded.config.prune).toEqual({
			enabled: true,
			keepRecentTurns: 5,
			maxToolChars: 4,
			adaptive: false,
			pinImpactSummaries: false,
		});
		expect(loaded.config.blobs).toMatchObject({ maxBytes: 4, enabled: false });
		expect(loaded.origin("prune.enabled")).toBe("default");
		expect(loaded.origin("prune.adaptive")).toBe("pi-kota.json");
		expect(loaded.origin("prune.maxToolChars")).toBe("strata.json");
		expect(loaded.origin("prune.keepRecentTurns")).toBe("project pi-kota.json");
		expect(loaded.origin("blobs.enabled")).toBe("project strata.json");
	});

	test("the user's list of excluded files replaces the default", () => {
		const loaded = load({ "strata.json": { readcache: { exclude: ["*.secret"] } } });
		expect(loaded.config.readcache.exclude).toEqual(["*.secret"]);
		expect(loaded.origin("readcache.exclude")).toBe("strata.json");
	});

	test("a project's list of excluded files is added to the user's, without repeats", () => {
		const loaded = load({
			"strata.json": { readcache: { exclude: ["*.secret", "*.pem"] } },
			"project strata.json": { readcache: { exclude: ["*.pem", "fixtures/**", "fixtures/**"] } },
		});
		expect(loaded.config.readcache.exclude).toEqual(["*.secret", "*.pem", "fixtures/**"]);
		expect(loaded.origin("readcache.exclude")).toBe("strata.json + project strata.json");
	});

	test("a project cannot empty the default list of excluded files", () => {
		const before = load().config.readcache.exclude;
		const loaded = load({ "project strata.json": { readcache: { exclude: [] } } });
		expect(loaded.config.readcache.exclude).toEqual(before);
	});

	test("a key repeated in one file counts once, as its last value", () => {
		const { config, warnings } = load({
			"strata.json": '{"prune":{"maxToolChars":1,"maxToolChars":2}}',
		});
		expect(config.prune.maxToolChars).toBe(2);
		expect(warnings).toEqual([]);
	});

	test("the files are listed in order with whether they are there and of use", () => {
		const { files } = load({ "strata.json": {}, "project pi-kota.json": "broken" });
		expect(files).toEqual([
			{ label: "pi-kota.json", path: pathOf("pi-kota.json"), found: false, used: false },
			{ label: "strata.json", path: pathOf("strata.json"), found: true, used: true },
			{
				label: "project pi-kota.json",
				path: pathOf("project pi-kota.json"),
				found: true,
				used: false,
			},
			{
				label: "project strata.json",
				path: pathOf("project strata.json"),
				found: false,
				used: false,
			},
		]);
	});

	test("the description lists every setting in the order of the table", () => {
		const described = describeConfig(load({ "strata.json": { readcache: { mode: "shadow" } } }));
		expect(described.map(({ key }) => key)).toEqual(settings.map(({ key }) => key));
		expect(described[0]).toEqual({
			key: "readcache.mode",
			value: "shadow",
			origin: "strata.json",
		});
	});
});

describe("isolation", () => {
	test("a configuration cannot be changed, at any depth", () => {
		const { config } = load({ "strata.json": { readcache: { exclude: ["a"] } } });
		expect(() => Object.assign(config, { prune: {} })).toThrow(TypeError);
		expect(() => Object.assign(config.prune, { enabled: false })).toThrow(TypeError);
		expect(() => (config.readcache.exclude as string[]).push("b")).toThrow(TypeError);
		expect(() => (config.kota.args as string[]).push("b")).toThrow(TypeError);
	});

	test("two loads share no list", () => {
		expect(load().config.kota.args).not.toBe(load().config.kota.args);
	});
});

describe("wrong values", () => {
	test("a wrong value is named with its file, its key and what it must be", () => {
		const { config, warnings } = load({ "strata.json": { prune: { keepRecentTurns: "two" } } });
		expect(config.prune.keepRecentTurns).toBe(2);
		expect(warnings).toEqual([
			'strata.json: prune.keepRecentTurns must be a whole number ≥ 0, got "two"',
		]);
	});

	test("a wrong value leaves what the files before it said, for that key alone", () => {
		const loaded = load({
			"pi-kota.json": { prune: { keepRecentTurns: 7, maxToolChars: 7 } },
			"project strata.json": { prune: { keepRecentTurns: -1, maxToolChars: 9 } },
		});
		expect(loaded.config.prune).toMatchObject({ keepRecentTurns: 7, maxToolChars: 9 });
		expect(loaded.origin("prune.keepRecentTurns")).toBe("pi-kota.json");
		expect(loaded.warnings).toEqual([
			"project strata.json: prune.keepRecentTurns must be a whole number ≥ 0, got -1",
		]);
	});

	test.each([
		[{ prune: { enabled: "yes" } }, 'prune.enabled must be true or false, got "yes"'],
		[{ prune: { enabled: null } }, "prune.enabled must be true or false, got null"],
		[{ prune: { maxToolChars: 1.5 } }, "prune.maxToolChars must be a whole number ≥ 0, got 1.5"],
		[{ blobs: { maxBytes: 1e300 } }, "blobs.maxBytes must be a whole number ≥ 0, got 1e+300"],
		[
			{ readcache: { maxDiffChain: 11 } },
			"readcache.maxDiffChain must be a whole number from 0 to 10, got 11",
		],
		[
			{ readcache: { maxDiffRatio: 1.1 } },
			"readcache.maxDiffRatio must be a number from 0 to 1, got 1.1",
		],
		[
			{ readcache: { mode: "On" } },
			'readcache.mode must be one of "on", "shadow", "off", got "On"',
		],
		[{ kota: { toolset: ["core"] } }, 'kota.toolset must be a string, got ["core"]'],
		[
			{ readcache: { exclude: "*.pem" } },
			'readcache.exclude must be a list of at most 200 strings, each of at most 512 characters, got "*.pem"',
		],
		[
			{ readcache: { exclude: ["a", 1] } },
			'readcache.exclude must be a list of at most 200 strings, each of at most 512 characters, got ["a",1]',
		],
		[{ prune: { adaptive: { a: 1 } } }, 'prune.adaptive must be true or false, got {"a":1}'],
		[{ prune: [] }, "prune must be an object, got a list"],
		[{ prune: null }, "prune must be an object, got null"],
	])("%j is refused", (content, message) => {
		const { config, warnings } = load({ "strata.json": content });
		expect(warnings).toEqual([`strata.json: ${message}`]);
		expect(config).toEqual(load({ "strata.json": {} }).config);
	});

	test("a number too large for JSON's reader is refused", () => {
		const { config, warnings } = load({ "strata.json": '{"readcache":{"maxDiffRatio":1e999}}' });
		expect(config.readcache.maxDiffRatio).toBe(0.9);
		expect(warnings).toHaveLength(1);
	});

	test("a value of up to 60 characters is shown, a longer one is not", () => {
		const fits = "x".repeat(58);
		expect(load({ "strata.json": { prune: { enabled: fits } } }).warnings).toEqual([
			`strata.json: prune.enabled must be true or false, got "${fits}"`,
		]);
		for (const [value, kind] of [
			["x".repeat(59), "a string"],
			[["x".repeat(59)], "a list"],
			[{ key: "x".repeat(59) }, "an object"],
		])
			expect(load({ "strata.json": { prune: { enabled: value } } }).warnings).toEqual([
				`strata.json: prune.enabled must be true or false, got ${kind} too long to show`,
			]);
	});

	test("the value of a setting that only the user may set is never shown", () => {
		const { warnings } = load({
			"strata.json": {
				kota: { command: ["hush"], args: "hush", confirmIndex: "hush" },
				blobs: { dir: { hush: 1 } },
			},
			"project strata.json": { kota: { command: "hush" }, readcache: { storeDir: "hush" } },
		});
		expect(warnings.slice(0, 4)).toEqual([
			"strata.json: kota.command must be a string, got a list",
			"strata.json: kota.args must be a list of at most 200 strings, each of at most 512 characters, got a string",
			"strata.json: kota.confirmIndex must be true or false, got a string",
			"strata.json: blobs.dir must be a string, got an object",
		]);
		expect(warnings.join()).not.toContain("hush");
	});

	test("a warning names its file by the path, as there are two of each name", () => {
		writeFileSync(pathOf("strata.json"), "[]");
		writeFileSync(pathOf("project strata.json"), "[]");
		expect(loadConfig({ agentDir, cwd }).warnings).toEqual([
			`${pathOf("strata.json")}: must be a JSON object, got a list; the file is ignored`,
			`${pathOf("project strata.json")}: must be a JSON object, got a list; the file is ignored`,
		]);
	});

	test("a folder's name does not steer a terminal through a warning", () => {
		const odd = join(root, "odd\u001b[2J\u202e");
		mkdirSync(odd);
		writeFileSync(join(odd, "strata.json"), "[]");
		const { warnings } = loadConfig({ agentDir: odd, cwd });
		expect(warnings[0]).toContain("odd\\u001b[2J\\u202e");
	});

	test("a warning carries no character that steers a terminal", () => {
		const steering = "\u001b[2J\u009b2J\u202e\u2028\u{e0041}";
		const { warnings } = load({
			"project strata.json": { prune: { enabled: steering, [steering]: 1 }, [steering]: {} },
		});
		expect(warnings).toHaveLength(3);
		expect(warnings.join("")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
		expect(warnings[0]).toContain("\\u001b[2J\\u009b2J\\u202e\\u2028\\udb40\\udc41");
	});
});

describe("unknown keys", () => {
	test("an unknown key is a warning with the nearest known one", () => {
		const { warnings } = load({
			"strata.json": { prune: { keepRecentTurn: 1, colour: "red" }, prunes: {}, weather: {} },
		});
		expect(warnings).toEqual([
			'strata.json: unknown key "prune.keepRecentTurn", did you mean prune.keepRecentTurns?',
			'strata.json: unknown key "prune.colour"',
			'strata.json: unknown group "prunes", did you mean prune?',
			'strata.json: unknown group "weather"',
		]);
	});

	test("a long unknown key is shortened to 60 characters", () => {
		const { warnings } = load({ "strata.json": { ["x".repeat(1000)]: 1 } });
		expect(warnings).toEqual([`strata.json: unknown group "${"x".repeat(57)}…"`]);
	});

	test("keys next to an unknown one still count", () => {
		const { config } = load({ "strata.json": { prune: { colour: 1, enabled: false }, paint: 1 } });
		expect(config.prune.enabled).toBe(false);
	});

	test("pi-kota.json takes only the groups of its specification", () => {
		const { config, warnings } = load({
			"pi-kota.json": { readcache: { mode: "off" }, prune: { enabled: false }, readcach: {} },
		});
		expect(config.readcache.mode).toBe("on");
		expect(config.prune.enabled).toBe(false);
		expect(warnings).toEqual([
			"pi-kota.json: readcache belongs in strata.json; ignored",
			'pi-kota.json: unknown group "readcach"',
		]);
	});

	test("a $schema key is allowed in every file, but only at the top", () => {
		const content = { $schema: "./strata.schema.json" };
		const files = Object.fromEntries(LABELS.map((label) => [label, content]));
		expect(load(files).warnings).toEqual([]);
		expect(load({ "strata.json": { prune: content } }).warnings).toEqual([
			'strata.json: unknown key "prune.$schema"',
		]);
	});

	test.each(["__proto__", "constructor", "prototype", "toString"])(
		"%s is an unknown key like any other and reaches no prototype",
		(name) => {
			const { config, warnings } = load({
				"project strata.json": `{"${name}":{"polluted":1},"prune":{"${name}":{"polluted":1}}}`,
			});
			expect(warnings).toEqual([
				`project strata.json: unknown group "${name}"`,
				`project strata.json: unknown key "prune.${name}"`,
			]);
			expect(({} as Record<string, unknown>).polluted).toBeUndefined();
			expect((config.prune as Record<string, unknown>).polluted).toBeUndefined();
			expect(Object.getPrototypeOf(config.prune)).toBe(Object.prototype);
		},
	);

	test("after 20 warnings about a file the rest is counted", () => {
		const keys = (count: number) =>
			Object.fromEntries(Array.from({ length: count }, (_, index) => [`unknown${index}`, 1]));
		expect(load({ "strata.json": keys(20) }).warnings).toHaveLength(20);
		const { warnings } = load({
			"strata.json": keys(23),
			"project strata.json": { prune: keys(21) },
		});
		expect(warnings).toHaveLength(42);
		expect(warnings[20]).toBe("strata.json: … and 3 more");
		expect(warnings[41]).toBe("project strata.json: … and 1 more");
	});
});

describe("what a project cannot set", () => {
	test.each([
		"paging.maxCacheBytes",
		"tiers.maxTokens",
		"tiers.maxFiles",
		"tiers.maxFileBytes",
		"tiers.mapTokens",
	])("%s beyond what memory and a prompt bear", (key) => {
		const [group = "", name = ""] = key.split(".");
		const loaded = load({ "project strata.json": { [group]: { [name]: 1e12 } } });
		expect(loaded.warnings).toEqual([
			expect.stringContaining(`${key} must be a whole number from`),
		]);
		expect(describeConfig(loaded).find((row) => row.key === key)?.origin).toBe("default");
	});

	const attempts = {
		kota: { command: "evil", args: ["evil"], confirmIndex: false, engine: "external" },
		blobs: { dir: "/evil" },
	};

	test("a repository cannot have the provider clear results, nor say how many stay", () => {
		const before = load().config;
		const { config, warnings } = load({
			"project strata.json": { clearing: { mode: "on", keep: 3 } },
		});
		expect(config).toEqual(before);
		expect(warnings).toEqual(
			["clearing.mode", "clearing.keep"].map(
				(key) => `project strata.json: ${key} can only be set in the user's own files; ignored`,
			),
		);
	});

	test.each(["project pi-kota.json", "project strata.json"] as const)(
		"%s cannot name commands or folders, nor switch off a question",
		(label) => {
			const before = load().config;
			const { config, warnings } = load({ [label]: attempts });
			expect(config).toEqual(before);
			expect(warnings).toEqual(
				["kota.command", "kota.args", "kota.confirmIndex", "kota.engine", "blobs.dir"].map(
					(key) => `${label}: ${key} can only be set in the user's own files; ignored`,
				),
			);
		},
	);

	test("a project cannot move the store of the read cache", () => {
		const { config, warnings } = load({
			"project strata.json": { readcache: { storeDir: "/evil" } },
		});
		expect(config.readcache.storeDir).toBe("");
		expect(warnings).toHaveLength(1);
	});

	test("the user can set all of these, in both files", () => {
		const first = load({ "pi-kota.json": attempts });
		expect(first.warnings).toEqual([]);
		expect(first.config.kota).toMatchObject(attempts.kota);
		const second = load({ "strata.json": { readcache: { storeDir: "~/store" } } });
		expect(second.config.readcache.storeDir).toBe("~/store");
		expect(second.config.blobs.dir).toBe("/evil");
	});
});

describe("unusable files", () => {
	test.each([
		["", "is not valid JSON"],
		["{", "is not valid JSON (line 1, column 2)"],
		['{\n\t"prune": {},\n}', "is not valid JSON (line 3, column 1)"],
		["// comment\n{}", "is not valid JSON"],
		["[]", "must be a JSON object, got a list"],
		["null", "must be a JSON object, got null"],
		['"prune"', "must be a JSON object, got a string"],
		["7", "must be a JSON object, got a number"],
	])("a file that holds %j is one warning, and the others count", (content, why) => {
		const { config, warnings } = load({
			"strata.json": content,
			"project strata.json": { prune: { keepRecentTurns: 8 } },
		});
		expect(warnings).toEqual([`strata.json: ${why}; the file is ignored`]);
		expect(config.prune.keepRecentTurns).toBe(8);
	});

	test("malformed JSON is not quoted: the file may be a link to a secret", () => {
		const secret = join(root, "secret");
		writeFileSync(secret, "hush hush");
		symlinkSync(secret, pathOf("project strata.json"));
		expect(load().warnings).toEqual([
			"project strata.json: is not valid JSON; the file is ignored",
		]);
	});

	test("bytes that are not UTF-8 are one warning", () => {
		const { warnings } = load({ "strata.json": Buffer.from('{"prune":{}}', "utf16le") });
		expect(warnings).toEqual([
			"strata.json: is not valid JSON (line 1, column 2); the file is ignored",
		]);
		const broken = Buffer.from('{"kota":{"toolset":"\xff"}}', "latin1");
		expect(load({ "strata.json": broken }).warnings).toEqual([
			"strata.json: is not valid JSON; the file is ignored",
		]);
	});

	test("a BOM at the start is accepted", () => {
		const { config, warnings } = load({ "strata.json": '\ufeff{"prune":{"enabled":false}}' });
		expect(config.prune.enabled).toBe(false);
		expect(warnings).toEqual([]);
	});

	test("a folder in a file's place is one warning", () => {
		mkdirSync(pathOf("strata.json"));
		const { warnings, files } = load();
		expect(warnings).toEqual(["strata.json: is not a regular file; the file is ignored"]);
		expect(files[1]?.found).toBe(true);
	});

	test.skipIf(process.platform === "win32")("a FIFO or device is never opened", () => {
		execFileSync("mkfifo", [pathOf("strata.json")]);
		symlinkSync("/dev/zero", pathOf("project strata.json"));
		expect(load().warnings).toEqual([
			"strata.json: is not a regular file; the file is ignored",
			"project strata.json: is not a regular file; the file is ignored",
		]);
	});

	test("a link to itself is one warning", () => {
		symlinkSync(pathOf("strata.json"), pathOf("strata.json"));
		expect(load().warnings).toEqual(["strata.json: cannot be read (ELOOP); the file is ignored"]);
	});

	test("a file where the project's .pi folder would be is silent", () => {
		rmSync(join(cwd, ".pi"), { recursive: true });
		writeFileSync(join(cwd, ".pi"), "");
		expect(load().warnings).toEqual([]);
	});

	test("a folder name that no file system has is a warning, not an exception", () => {
		const { warnings } = loadConfig({ agentDir, cwd: `${cwd}\0` });
		expect(warnings).toHaveLength(2);
	});

	test("a file of exactly 1 MiB is read, one byte more is one warning", () => {
		const content = '{"prune":{"enabled":false}}'.padEnd(1024 * 1024);
		expect(load({ "strata.json": content }).config.prune.enabled).toBe(false);
		const { config, warnings } = load({ "strata.json": `${content} ` });
		expect(config.prune.enabled).toBe(true);
		expect(warnings).toEqual(["strata.json: is larger than 1 MiB; the file is ignored"]);
	});

	test("a file of 10 MB is one warning", () => {
		expect(load({ "strata.json": `"${"x".repeat(10_000_000)}"` }).warnings).toEqual([
			"strata.json: is larger than 1 MiB; the file is ignored",
		]);
	});

	test("JSON nested 100 000 levels deep is refused where it stands, without an exception", () => {
		const deep = nested(100_000);
		const { config, warnings } = load({
			"pi-kota.json": deep,
			"strata.json": `{"prune":{"enabled":${deep},"maxToolChars":5},"blobs":${deep}}`,
			"project strata.json": `{"readcache":{"exclude":[${deep}],"${"x".repeat(99)}":${deep}}}`,
		});
		expect(warnings).toEqual([
			"pi-kota.json: must be a JSON object, got a list; the file is ignored",
			"strata.json: prune.enabled must be true or false, got a list too long to show",
			"strata.json: blobs must be an object, got a list",
			"project strata.json: readcache.exclude must be a list of at most 200 strings, each of at most 512 characters, got a list too long to show",
			expect.stringContaining("project strata.json: unknown key"),
		]);
		expect(config.prune.maxToolChars).toBe(5);
	});

	test("a file full of unknown keys is answered with a few warnings", { tags: "slow" }, () => {
		const many = Array.from({ length: 90_000 }, (_, index) => `"k${index}":1`).join(",");
		expect(load({ "project strata.json": `{"prune":{${many}}}` }).warnings).toHaveLength(21);
	});
});

describe("addresses of the proxy", () => {
	const upstreams = (value: unknown, label: (typeof LABELS)[number] = "strata.json") =>
		load({ [label]: JSON.stringify({ proxy: { upstreams: value } }) });

	test("are https, or http on this machine, and cannot be changed in hand", () => {
		const given = {
			anthropic: "https://gateway.example/llm",
			local: "http://127.0.0.1:8080",
			"my-own-2": "http://[::1]:9/v1/",
		};
		const { config, warnings } = upstreams(given);
		expect(warnings).toEqual([]);
		expect(config.proxy.upstreams).toEqual(given);
		expect(Object.isFrozen(config.proxy.upstreams)).toBe(true);
	});

	test.each([
		[{ a: "http://gateway.example" }],
		[{ a: "http://127.0.0.1.evil.example" }],
		[{ a: "http://localhost@evil.example" }],
		[{ a: "https://user:word@gateway.example" }],
		[{ a: "https://gateway.example/?x" }],
		[{ a: "ftp://127.0.0.1" }],
		[{ a: 1 }],
		[{ "a/b": "https://gateway.example" }],
		[{ "": "https://gateway.example" }],
		[["https://gateway.example"]],
		["https://gateway.example"],
		[null],
	])("%j is refused, without showing it", (value) => {
		const { config, warnings } = upstreams(value);
		expect(config.proxy.upstreams).toEqual({});
		expect(warnings).toEqual([expect.stringContaining("proxy.upstreams must be an object")]);
		expect(warnings.join()).not.toMatch(/gateway|word|evil/);
	});

	test("are never taken from a repository", () => {
		const { config, warnings } = upstreams({ a: "https://evil.example" }, "project strata.json");
		expect(config.proxy.upstreams).toEqual({});
		expect(warnings.join()).toContain("can only be set in the user's own files");
	});
});

describe("laws", () => {
	const groupNames = [...new Set(settings.map(({ group }) => group)), "__proto__", "$schema"];
	const settingNames = [...new Set(settings.map(({ name }) => name)), "__proto__", "constructor"];
	const value = fc.oneof(
		fc.jsonValue({ maxDepth: 2 }),
		fc.integer({ min: -2, max: 20 }),
		fc.double(),
		fc.boolean(),
		fc.array(fc.string()),
		fc.constantFrom("on", "off", "shadow", "onPaths", "always"),
	);
	const likely = fc.dictionary(
		fc.oneof(fc.constantFrom(...groupNames), fc.string()),
		fc.oneof(
			{ weight: 5, arbitrary: fc.dictionary(fc.constantFrom(...settingNames), value) },
			{ weight: 1, arbitrary: value },
		),
	);
	const crowded = fc.dictionary(fc.string(), value, { minKeys: 25, size: "medium" });
	const content = fc.oneof(
		{ weight: 6, arbitrary: likely.map((object) => JSON.stringify(object)) },
		{ weight: 2, arbitrary: crowded.map((object) => JSON.stringify({ prune: object, ...object })) },
		{ weight: 1, arbitrary: fc.json() },
		{ weight: 1, arbitrary: fc.string({ unit: "binary" }) },
	);

	test("whatever the four files hold, loading succeeds and every value satisfies its rule", {
		tags: "slow",
	}, () => {
		fc.assert(
			fc.property(fc.tuple(content, content, content, content), (contents) => {
				const loaded = load(
					Object.fromEntries(LABELS.map((label, index) => [label, contents[index]])),
				);
				for (const { key, value } of describeConfig(loaded)) {
					const row = settings.find((candidate) => candidate.key === key);
					expect(row && accepts(row.setting, value), key).toBe(true);
				}
				expect(Check(configJsonSchema(), loaded.config)).toBe(true);
				for (const label of LABELS) {
					const own = loaded.warnings.filter((warning) => warning.startsWith(`${label}: `));
					const tail = own.findIndex((warning) => warning.startsWith(`${label}: … and `));
					expect(tail === -1 ? own.length : tail).toBeLessThanOrEqual(20);
					if (tail !== -1) expect(tail).toBe(own.length - 1);
				}
				expect(loaded.warnings.every((warning) => warning.length < 250)).toBe(true);
			}),
			{ numRuns: runs(300) },
		);
	});

	test("a project never decides what only the user may, and never shortens the exclude list", {
		tags: "slow",
	}, () => {
		fc.assert(
			fc.property(fc.tuple(content, content, content, content), ([a, b, c, d]) => {
				const user = load({
					"pi-kota.json": a,
					"strata.json": b,
					"project pi-kota.json": "{}",
					"project strata.json": "{}",
				});
				const both = load({ "project pi-kota.json": c, "project strata.json": d });
				const theirs = new Map(describeConfig(user).map(({ key, value }) => [key, value]));
				for (const { key, value } of describeConfig(both))
					if (settings.find((row) => row.key === key)?.setting.userOnly)
						expect(value).toEqual(theirs.get(key));
				expect(both.config.readcache.exclude).toEqual(
					expect.arrayContaining([...user.config.readcache.exclude]),
				);
			}),
		);
	});

	test("the JSON Schema accepts exactly the values that loading accepts", () => {
		const schema = configJsonSchema();
		fc.assert(
			fc.property(fc.constantFrom(...settings), value, ({ group, name, setting }, raw) => {
				const fromFile = JSON.parse(JSON.stringify(raw) ?? "null");
				const valid = Check(schema, { [group]: { [name]: fromFile } });
				expect(valid).toBe(accepts(setting, fromFile));
			}),
			{ numRuns: runs(2_000) },
		);
	});
});

describe("JSON Schema", () => {
	test("docs/strata.schema.json is the schema of this version", () => {
		const committed = readFileSync(
			new URL("../../docs/strata.schema.json", import.meta.url),
			"utf8",
		);
		expect(JSON.parse(committed), "run npm run schema").toEqual(configJsonSchema());
	});

	test("unknown keys are refused at every level, and $schema is allowed", () => {
		const schema = configJsonSchema();
		expect(Check(schema, { $schema: "x", prune: { enabled: true } })).toBe(true);
		expect(Check(schema, { paint: {} })).toBe(false);
		expect(Check(schema, { prune: { colour: 1 } })).toBe(false);
	});

	test("every setting has a one-sentence description, a default and its limits", () => {
		const { properties } = configJsonSchema() as {
			properties: Record<string, { properties: Record<string, Record<string, unknown>> }>;
		};
		for (const { group, name, setting } of settings) {
			expect(setting.description).toMatch(/^[A-Z][^\n]*\.$/);
			expect(properties[group]?.properties[name]).toMatchObject({
				description: expect.stringContaining(setting.description),
				default: setting.default,
			});
		}
		expect(properties.readcache?.properties.maxDiffChain).toMatchObject({
			type: "integer",
			minimum: 0,
			maximum: 10,
		});
		expect(properties.kota?.properties.autoContext).toMatchObject({
			enum: ["off", "onPaths", "always"],
		});
	});

	test("changing a schema in hand does not change the defaults", () => {
		const before = structuredClone(load().config);
		const schema = JSON.stringify(configJsonSchema());
		const { properties } = configJsonSchema() as {
			properties: { kota: { properties: { args: { default: string[] } } } };
		};
		properties.kota.properties.args.default.push("evil");
		expect(load().config).toEqual(before);
		expect(JSON.stringify(configJsonSchema())).toBe(schema);
	});
});
