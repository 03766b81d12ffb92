import {
	choice,
	flag,
	group,
	kotaGroup,
	list,
	number,
	type Setting,
	type SettingGroup,
	settingSchema,
	text,
	whole,
} from "./setting.ts";

export { accepts, type Setting, type SettingGroup, type SettingValue } from "./setting.ts";

const MIB = 1024 * 1024;

/**
 * Usual names of files with secrets. Wide, as a false positive only costs a saving; but sources
 * that deal with secrets (`token.ts`, `credentials.ts`) do not match.
 */
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
	readcache: group("Files the model already has in view are not sent again.", {
		mode: choice(
			["on", "shadow", "off"],
			"on",
			"Whether reads are served from the cache (on), only measured (shadow) or left to pi (off).",
		),
		// A repository may set it: bounded by what is read and hashed in a moment.
		maxFileBytes: whole(
			8 * MIB,
			"Files larger than this many bytes get pi's own output and are not hashed.",
			{ max: 64 * MIB },
		),
		maxDiffBytes: whole(2 * MIB, "Files larger than this many bytes are never served as a diff.", {
			max: 16 * MIB,
		}),
		maxDiffLines: whole(12_000, "Files with more lines than this are never served as a diff.", {
			max: 200_000,
		}),
		maxDiffRatio: number(0.9, "A diff larger than this share of the full output is not served.", {
			max: 1,
		}),
		maxDiffChain: whole(
			3,
			"How many diffs may follow one another before a file is sent in full again.",
			{ max: 10 },
		),
		exclude: list(
			SENSITIVE_FILES,
			"Glob patterns of files that are never cached; a leading ! has no meaning.",
			{ projectMerge: "append" },
		),
		storeDir: text(
			"",
			"Folder of the stored file versions; empty means .pi/readcache at the git root, or in the working folder.",
			{ userOnly: true },
		),
		storeMaxBytes: whole(
			256 * MIB,
			"The store drops its oldest file versions above this many bytes.",
			{ userOnly: true },
		),
		storeMaxAgeDays: whole(30, "The store drops file versions unused for this many days.", {
			userOnly: true,
		}),
	}),
	paging: group("Web pages, PDFs and files are read in chunks.", {
		enabled: flag(true, "Whether read takes web addresses, file: addresses and PDFs."),
		ttlMinutes: number(
			5,
			"How long a resource is used without asking again; continuing to read prolongs it.",
			{ max: 1440 },
		),
		maxEntries: whole(50, "How many resources are kept at most.", { max: 10_000 }),
		maxCacheBytes: whole(20_000_000, "How much memory they may take together.", {
			max: 1024 * MIB,
		}),
		maxWebBytes: whole(10_000_000, "Largest web page or text, unpacked.", {
			min: 1,
			max: 256 * MIB,
		}),
		maxPdfBytes: whole(50_000_000, "Largest PDF.", { min: 1, max: 512 * MIB }),
		timeoutSeconds: number(30, "Time for a whole web request, redirects included.", {
			min: 1,
			max: 600,
		}),
		extractSeconds: number(
			10,
			"Time for converting one page before a simpler conversion is used.",
			{ min: 0.1, max: 600 },
		),
		allowRanges: list(
			[],
			"Network ranges (CIDR, such as 192.168.1.0/24) that may be reached although they are not public.",
			{ userOnly: true },
		),
		useProxy: flag(
			false,
			"Use HTTP_PROXY and HTTPS_PROXY; the addresses behind names are then not checked.",
			{ userOnly: true },
		),
	}),
	kota: kotaGroup("Code intelligence: the kota_* tools.", {
		enabled: flag(true, "Whether the model gets the kota_* tools, and prompts their briefings."),
		toolset: text("core", "The set of tools that an external KotaDB is asked for."),
		autoContext: choice(
			["off", "onPaths", "always"],
			"off",
			"Whether task context is added to a prompt never, when it names paths, or always.",
		),
		confirmIndex: flag(true, "Ask the user before a repository is indexed for the first time.", {
			userOnly: true,
		}),
		maxAnswerBytes: whole(5000, "Largest answer of a kota_* tool in bytes, everything included.", {
			min: 500,
			max: 50_000,
		}),
		offerWhole: flag(
			true,
			"Offer the user the whole answer when one had to be shortened; after a no, not again in that session.",
			{ userOnly: true },
		),
		engine: choice(
			["embedded", "external"],
			"embedded",
			"Which index answers: the one built in, or an external KotaDB.",
			{ userOnly: true },
		),
		timeoutSeconds: number(
			120,
			"Time for one question to an external KotaDB; indexing has ten times as much.",
			{ min: 1, max: 3600, userOnly: true },
		),
		command: text("bun", "The program that starts an external KotaDB.", { userOnly: true }),
		args: list(
			["x", "kotadb@next", "--stdio", "--toolset", "core"],
			"The arguments the program is started with.",
			{ userOnly: true },
		),
	}),
	prune: kotaGroup("Old tool output is replaced by a stub with a way back.", {
		enabled: flag(true, "Whether old tool output is pruned at all."),
		keepRecentTurns: whole(2, "Tool output of this many latest turns is left as it is."),
		maxToolChars: whole(1200, "Older tool output longer than this many characters can be pruned."),
		adaptive: flag(true, "Prune more as the context window fills up."),
		pinImpactSummaries: flag(true, "Keep the summaries of impact analyses out of pruning."),
	}),
	blobs: kotaGroup("Full copies of tool output that was shortened.", {
		enabled: flag(true, "Whether full copies are kept."),
		scope: choice(
			["all", "kota"],
			"all",
			"Whose old output is kept and pruned: that of all tools, or only that of the kota_* tools.",
		),
		dir: text(
			"~/.pi/cache/pi-kota/blobs",
			"Folder of the copies; a leading ~ is the home folder.",
			{ userOnly: true },
		),
		maxBytes: whole(250 * MIB, "The oldest copies are dropped above this many bytes.", {
			userOnly: true,
		}),
		maxAgeDays: whole(14, "Copies older than this many days are dropped.", { userOnly: true }),
	}),
	tiers: group("Working files and a symbol map that are in every request, always fresh.", {
		enabled: flag(
			true,
			"Whether a working set can be kept at all; it is empty until /workset add.",
		),
		layout: choice(
			["log", "tiers"],
			"log",
			"How working files are laid out: appended to the conversation and sorted when that pays, or in four cached tiers before it.",
		),
		cacheMinTokens: whole(
			1024,
			"The fewest tokens of a cached block; 0 lets everything promote unconditionally.",
		),
		cacheBufferMultiplier: number(1.5, "A tier is filled to cacheMinTokens times this.", {
			max: 100,
		}),
		// No model's window exceeds this bound.
		maxTokens: whole(
			60_000,
			"The working files may have this many tokens together; further files are refused.",
			{ max: 2_000_000 },
		),
		// Every request reads each of them.
		maxFiles: whole(200, "The working set may hold this many files.", { min: 1, max: 10_000 }),
		maxFileBytes: whole(256 * 1024, "A larger file is not taken into the working set.", {
			min: 1,
			max: 64 * MIB,
		}),
		map: flag(false, "Whether a map of the project's symbols stands beside the working files."),
		// A repository may set it, and every request pays for it.
		mapTokens: whole(4000, "The map may have this many tokens.", { max: 100_000 }),
	}),
	economy: group("What requests cost, and why a cache missed.", {
		missNotice: choice(
			["off", "once", "on"],
			"once",
			"Whether to tell of requests that had to pay again for what was cached: never, the first of a session, or each.",
		),
		missThreshold: whole(20_000, "Misses of fewer tokens than this are not told of."),
	}),
};

type Groups = typeof settingGroups;

/** Values by group: `config.prune.keepRecentTurns`. */
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
	// Cloned, so that a caller cannot change the table's lists.
	return structuredClone({
		$schema: "https://json-schema.org/draft/2020-12/schema",
		title: "strata.json",
		...objectSchema("Settings of pi-strata.", {
			$schema: { type: "string", description: "Where this schema is, for editors." },
			...Object.fromEntries(groups),
		}),
	});
}

function objectSchema(description: string, properties: object): Record<string, unknown> {
	return { description, type: "object", additionalProperties: false, properties };
}
