import {
	addresses,
	choice,
	flag,
	group,
	int,
	kotaGroup,
	list,
	number,
	type Setting,
	type SettingGroup,
	settingSchema,
	text,
} from "./setting.ts";

export { accepts, type Setting, type SettingValue } from "./setting.ts";

const MIB = 1024 * 1024;

/** Usual names of files with secrets. A false positive only means that the file is neither cached nor pruned. */
const SENSITIVE_FILES: readonly string[] = `
	.env* *.env *.tfvars *.tfvars.json *.tfstate *.tfstate.*
	*.pem *.key *.p8 *.p12 *.pfx *.crt *.cer *.der *.pk8 *.jks *.jceks *.keystore *.kdbx *.ppk
	*.ovpn *.gpg *.pgp *private*.asc *secret*.asc id_rsa* id_dsa* id_ecdsa* id_ed25519*
	.npmrc .netrc _netrc .pgpass .my.cnf .pypirc .htpasswd .s3cfg .boto .dockercfg
	.docker/config.json .kube/config kubeconfig *.kubeconfig kubeconfig.yaml kubeconfig.yml
	.git-credentials .terraformrc .vault-token .config/gh/hosts.yml credentials
	credentials*.json *credentials.json client_secret*.json service-account*.json
	service_account*.json *serviceaccount*.json *serviceAccount*.json *ServiceAccount*.json
	auth.json
	*.token token *token.txt *tokens.txt token.json password.txt passwords.txt .secret .secrets
	secret.json secret.toml secret.yaml secret.yml secrets.json secrets.toml secrets.yaml
	secrets.yml vault*.yaml vault*.yml .vault_pass*
`
	.trim()
	.split(/\s+/);

/** The source of the `Config` type, validation, defaults and the JSON Schema. */
export const settingGroups = {
	readcache: group("File content that the model already sees is not sent again.", {
		mode: choice(
			["on", "shadow", "off"],
			"on",
			"Serve reads from the cache (on), only measure what it would save (shadow), or leave reads to pi (off).",
		),
		// Bounded, since a repository may set it. A file of 64 MiB is still read and hashed quickly.
		maxFileBytes: int(
			8 * MIB,
			"Files with more bytes than this get pi's own output and are not hashed.",
			{ max: 64 * MIB },
		),
		maxDiffBytes: int(2 * MIB, "Files with more bytes than this are never served as a diff.", {
			max: 16 * MIB,
		}),
		maxDiffLines: int(12_000, "Files with more lines than this are never served as a diff.", {
			max: 200_000,
		}),
		maxDiffRatio: number(0.9, "Maximum size of a diff, as a share of the full output.", {
			max: 1,
		}),
		maxDiffChain: int(3, "Maximum number of diffs in a row before a file is sent in full again.", {
			max: 10,
		}),
		exclude: list(
			SENSITIVE_FILES,
			"Glob patterns of files that are never cached. A leading ! does not negate a pattern.",
			{ projectMerge: "append" },
		),
		compactionNote: flag(
			true,
			"After a compaction, name the files that the model saw before it and that have not changed since.",
		),
		storeDir: text(
			"",
			"Folder for stored file versions. If empty: .pi/readcache at the git root, or in the working folder.",
			{ userOnly: true },
		),
		storeMaxBytes: int(
			256 * MIB,
			"Above this size, in bytes, the store evicts the least recently used file versions.",
			{ userOnly: true },
		),
		storeMaxAgeDays: int(30, "The store evicts file versions unused for this many days.", {
			userOnly: true,
		}),
	}),
	birth: group("Tool results are shortened before the model first sees them.", {
		mode: choice(
			["on", "shadow", "off"],
			"on",
			"Shorten results (on), only count what that would save (shadow), or leave them as they are (off).",
		),
		minLines: int(6, "Fewer lines that an earlier result shows are repeated, not referred to.", {
			min: 2,
			max: 1000,
		}),
		minChars: int(300, "Lines with fewer characters in all are repeated, not referred to.", {
			min: 100,
			max: 100_000,
		}),
		minTokens: int(25, "A result that would save fewer tokens stays as it is.", {
			min: 1,
			max: 100_000,
		}),
		quiet: choice(
			["on", "off"],
			"on",
			"Render output of commands as a terminal would show it, and fold lines that repeat.",
		),
		quietExcept: list(
			[],
			"Commands whose output is not made quiet. A pattern matches a whole command; * matches any text.",
			{ projectMerge: "append" },
		),
	}),
	// It changes what the provider is asked for: a repository does not switch it on.
	clearing: group("The provider clears old tool results from its prompt when that pays.", {
		mode: choice(
			["on", "shadow", "off"],
			"shadow",
			"Ask the provider to clear old results (on), only count what that would save (shadow), or do nothing (off).",
			{ userOnly: true },
		),
		keep: int(5, "Number of newest tool results that are never cleared.", {
			min: 3,
			max: 1000,
			userOnly: true,
		}),
	}),
	paging: group("Web pages, PDFs and files are read in chunks.", {
		enabled: flag(true, "Whether the read tool accepts web addresses, file: addresses and PDFs."),
		ttlMinutes: number(5, "Minutes that a loaded resource stays fresh; each read extends them.", {
			max: 1440,
		}),
		maxEntries: int(50, "Maximum number of resources kept in memory.", { max: 10_000 }),
		maxCacheBytes: int(20_000_000, "Maximum memory of all loaded resources together, in bytes.", {
			max: 1024 * MIB,
		}),
		maxWebBytes: int(10_000_000, "Maximum size of a web page or text, in bytes, uncompressed.", {
			min: 1,
			max: 256 * MIB,
		}),
		maxPdfBytes: int(50_000_000, "Maximum size of a PDF, in bytes.", { min: 1, max: 512 * MIB }),
		timeoutSeconds: number(30, "Timeout for a web request including redirects, in seconds.", {
			min: 1,
			max: 600,
		}),
		extractSeconds: number(
			10,
			"Timeout for converting a page, in seconds. After it, a simpler conversion is used.",
			{ min: 0.1, max: 600 },
		),
		allowRanges: list(
			[],
			"Private network ranges that may be accessed, in CIDR form such as 192.168.1.0/24.",
			{ userOnly: true },
		),
		useProxy: flag(
			false,
			"Use the proxies in HTTP_PROXY and HTTPS_PROXY. The addresses behind host names are then not checked.",
			{ userOnly: true },
		),
	}),
	kota: kotaGroup("Code intelligence: the kota_* tools.", {
		enabled: flag(true, "Whether the model gets the kota_* tools, and briefings in prompts."),
		toolset: text("core", "The set of tools to request from an external KotaDB."),
		autoContext: choice(
			["off", "onPaths", "always"],
			"off",
			"Add task context to a prompt: never, when it names paths, or always.",
		),
		confirmIndex: flag(true, "Ask the user before indexing a repository for the first time.", {
			userOnly: true,
		}),
		maxAnswerBytes: int(5000, "Maximum size of an answer of a kota_* tool, in bytes.", {
			min: 500,
			max: 50_000,
		}),
		offerWhole: flag(
			true,
			"Offer the full answer to the user when an answer was shortened. If the user declines, the session does not ask again.",
			{ userOnly: true },
		),
		typeChecker: text(
			"",
			"Absolute path of TypeScript 7's tsc, which is then asked for usages of members. If empty: the index alone answers.",
			{ userOnly: true },
		),
		engine: choice(
			["embedded", "external"],
			"embedded",
			"Which index answers the kota_* tools: the embedded one, or an external KotaDB.",
			{ userOnly: true },
		),
		timeoutSeconds: number(
			120,
			"Timeout for a question to an external KotaDB, in seconds. Indexing gets ten times as long.",
			{ min: 1, max: 3600, userOnly: true },
		),
		command: text("bun", "The program that starts an external KotaDB.", { userOnly: true }),
		args: list(
			["x", "kotadb@next", "--stdio", "--toolset", "core"],
			"The arguments of kota.command.",
			{ userOnly: true },
		),
	}),
	prune: kotaGroup("Old tool output is replaced by a stub that says how to read it again.", {
		enabled: flag(true, "Whether old tool output is pruned."),
		keepRecentTurns: int(2, "Number of latest turns whose tool output is never pruned."),
		maxToolChars: int(1200, "Older tool output can be pruned if it has more characters than this."),
		adaptive: flag(true, "Prune more as the context window fills up."),
		pinImpactSummaries: flag(true, "Never prune the summaries of impact analyses."),
	}),
	blobs: kotaGroup("Full copies of shortened tool output.", {
		enabled: flag(true, "Whether full copies are kept."),
		scope: choice(
			["all", "kota"],
			"all",
			"Which old output is pruned, with a copy: that of all tools, or of the kota_* tools only.",
		),
		dir: text("~/.pi/cache/pi-kota/blobs", "Folder for the copies; ~ is the home folder.", {
			userOnly: true,
		}),
		maxBytes: int(250 * MIB, "Above this many bytes, the least recently used copies are evicted.", {
			userOnly: true,
		}),
		maxAgeDays: int(14, "Copies unused for this many days are evicted.", { userOnly: true }),
	}),
	tiers: group("Working files, and a symbol map, that every request shows as they are on disk.", {
		enabled: flag(true, "Whether the working set is available; /workset add fills it."),
		layout: choice(
			["log", "tiers"],
			"log",
			"Where working files go: appended to the conversation and sorted when that pays (log), or in four cached tiers before it (tiers).",
		),
		cacheMinTokens: int(1024, "Minimum tokens of a cached block; 0 promotes everything."),
		cacheBufferMultiplier: number(
			1.5,
			"A tier keeps at least cacheMinTokens times this factor before its content can move to a steadier tier.",
			{
				max: 100,
			},
		),
		// No model's window is larger than this maximum.
		maxTokens: int(
			60_000,
			"Maximum number of tokens in the working set. Further files are refused.",
			{ max: 2_000_000 },
		),
		// Bounded, since every request reads each of these files.
		maxFiles: int(200, "Maximum number of files in the working set.", { min: 1, max: 10_000 }),
		maxFileBytes: int(256 * 1024, "Maximum size of a file in the working set, in bytes.", {
			min: 1,
			max: 64 * MIB,
		}),
		map: flag(false, "Whether requests include a map of the project's symbols."),
		// Bounded, since a repository may set this number and every request pays for the map.
		mapTokens: int(4000, "Maximum number of tokens in the map.", { max: 100_000 }),
	}),
	economy: group("The cost of requests, and the causes of cache misses.", {
		missNotice: choice(
			["off", "once", "on"],
			"once",
			"Report requests that paid again for cached tokens: never, once per session, or every time.",
		),
		missThreshold: int(20_000, "Cache misses of fewer tokens are not reported."),
		coldNotice: choice(
			["off", "notify", "ask"],
			"ask",
			"Before a prompt that is sent after the provider's cache has expired: say nothing, show what it costs (notify), or also ask in the terminal how to go on (ask).",
			{ userOnly: true },
		),
		coldThreshold: number(0.5, "Prompts that cost fewer dollars are sent without a notice.", {
			max: 1000,
			userOnly: true,
		}),
		ttl: choice(
			["auto", "5m", "1h", "off"],
			"off",
			"How long Anthropic keeps prompts in its cache: by the user's pauses and by price (auto), always 5 minutes or 1 hour, or as pi chooses (off).",
			{ userOnly: true },
		),
		runLine: flag(
			true,
			"Whether a line in the terminal says at the end of a run what it cost and what pi-strata saved.",
			{ userOnly: true },
		),
		dailyBudget: number(
			0,
			"Dollars a day for all sessions of pi together, by list prices. A warning is shown at 80 % and at 100 % of them; nothing is stopped. 0: no budget.",
			{ max: 1_000_000, userOnly: true },
		),
	}),
	// Keys pass through the proxy: a repository decides nothing about it.
	proxy: group("The local proxy between agents and model providers.", {
		upstreams: addresses(
			{},
			"Further providers by name, or other addresses for anthropic, openai, chatgpt and gemini.",
			{ userOnly: true },
		),
		websocket: choice(
			["join", "refuse"],
			"join",
			"Pass WebSockets on (join), or refuse them so that agents use plain HTTP (refuse).",
			{ userOnly: true },
		),
		maxBodyBytes: int(64 * MIB, "Larger requests and answers pass, but are not looked at.", {
			max: 512 * MIB,
			userOnly: true,
		}),
		savings: choice(
			["off", "shadow", "birth"],
			"off",
			"Shorten results that repeat lines of earlier ones before they are first sent (birth), count what that would save (shadow), or do neither (off).",
			{ userOnly: true },
		),
		keepDays: int(30, "Requests are kept in the book for this many days.", {
			min: 1,
			userOnly: true,
		}),
		keepTexts: flag(false, "Whether the book also keeps the texts of requests and answers.", {
			userOnly: true,
		}),
	}),
};

type Groups = typeof settingGroups;

/** Values by group, such as `config.prune.keepRecentTurns`. */
export type Config = {
	readonly [G in keyof Groups]: {
		readonly [S in keyof Groups[G]["settings"]]: ValueOf<Groups[G]["settings"][S]>;
	};
};

type ValueOf<S> = S extends Setting<infer Value> ? Value : never;

export type SettingKey = {
	[G in keyof Groups]: `${G}.${keyof Groups[G]["settings"] & string}`;
}[keyof Groups];

export type NamedSetting = (typeof settings)[number];

export const settings = Object.entries<SettingGroup>(settingGroups).flatMap(
	([group, { settings }]) =>
		Object.entries(settings).map(([name, setting]) => ({
			key: `${group}.${name}` as SettingKey,
			group,
			name,
			setting,
		})),
);

/** The JSON Schema (draft 2020-12) of `strata.json`; `docs/strata.schema.json` is a copy. */
export function configJsonSchema(): Record<string, unknown> {
	const groups = Object.entries<SettingGroup>(settingGroups).map(([name, group]) => {
		const own = Object.entries(group.settings).map(([name, one]) => [name, settingSchema(one)]);
		return [name, objectSchema(group.description, Object.fromEntries(own))];
	});
	// Cloned, so that a caller cannot change the lists of `settingGroups`.
	return structuredClone({
		$schema: "https://json-schema.org/draft/2020-12/schema",
		title: "strata.json",
		...objectSchema("Settings of pi-strata.", {
			$schema: { type: "string", description: "Address of this schema, for editors." },
			...Object.fromEntries(groups),
		}),
	});
}

function objectSchema(description: string, properties: object): Record<string, unknown> {
	return { description, type: "object", additionalProperties: false, properties };
}
