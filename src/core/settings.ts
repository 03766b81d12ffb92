/** One setting: what values it takes, what it is when nobody sets it, and who may set it. */
export type Setting = Shared &
	(
		| { kind: "boolean"; default: boolean }
		/** An integer; without `max`, up to the largest that JavaScript counts exactly. */
		| { kind: "whole"; default: number; min: number; max?: number }
		| { kind: "number"; default: number; min: number; max: number }
		| { kind: "string"; default: string }
		| { kind: "choice"; default: string; choices: readonly string[] }
		/** With `projectMerge`, a project's list is added to the user's instead of replacing it. */
		| { kind: "list"; default: readonly string[]; projectMerge?: "append" }
	);

interface Shared {
	/** One sentence for people, shown by editors through the JSON Schema. */
	description: string;
	/** Set on what a repository must not decide for its user: commands, folders and their limits, questions asked. */
	userOnly?: true;
}

/** Settings that stand under one key of the file. */
export interface SettingGroup {
	description: string;
	/** The group is part of `pi-kota.json` too; every group is part of `strata.json`. */
	inKotaFile?: true;
	settings: Record<string, Setting>;
}

const MIB = 1024 * 1024;

/** A list from a repository is gone through on every read: it must stay short. */
const MAX_LIST_ITEMS = 200;
const MAX_ITEM_LENGTH = 512;

/**
 * Names under which keys, certificates, tokens and passwords usually lie. A name too many costs a saving, so they are
 * wide; but sources that deal with such things (`token.ts`, `credentials.ts`) are none of them.
 */
const SENSITIVE_FILES: readonly string[] = [
	// Variables.
	".env*",
	"*.env",
	"*.tfvars",
	"*.tfvars.json",
	"*.tfstate",
	"*.tfstate.*",
	// Keys and certificates.
	"*.pem",
	"*.key",
	"*.p8",
	"*.p12",
	"*.pfx",
	"*.crt",
	"*.cer",
	"*.der",
	"*.pk8",
	"*.jks",
	"*.jceks",
	"*.keystore",
	"*.kdbx",
	"*.ppk",
	"*.ovpn",
	"*.gpg",
	"*.pgp",
	"*private*.asc",
	"*secret*.asc",
	"id_rsa*",
	"id_dsa*",
	"id_ecdsa*",
	"id_ed25519*",
	// Accounts of tools.
	".npmrc",
	".netrc",
	"_netrc",
	".pgpass",
	".my.cnf",
	".pypirc",
	".htpasswd",
	".s3cfg",
	".boto",
	".dockercfg",
	".docker/config.json",
	".kube/config",
	"kubeconfig",
	"*.kubeconfig",
	"kubeconfig.yaml",
	"kubeconfig.yml",
	".git-credentials",
	".terraformrc",
	".vault-token",
	".config/gh/hosts.yml",
	"credentials",
	"credentials*.json",
	"*credentials.json",
	"client_secret*.json",
	"service-account*.json",
	"service_account*.json",
	"*serviceaccount*.json",
	"*serviceAccount*.json",
	"*ServiceAccount*.json",
	"auth.json",
	// Tokens, passwords, secrets.
	"*.token",
	"token",
	"*token.txt",
	"*tokens.txt",
	"token.json",
	"password.txt",
	"passwords.txt",
	".secret",
	".secrets",
	"secret.json",
	"secret.toml",
	"secret.yaml",
	"secret.yml",
	"secrets.json",
	"secrets.toml",
	"secrets.yaml",
	"secrets.yml",
	"vault*.yaml",
	"vault*.yml",
	".vault_pass*",
];

/** Every setting there is. The `Config` type, validation, defaults and the JSON Schema are made from this table. */
export const settingGroups = {
	readcache: {
		description: "Files the model already has in view are not sent again.",
		settings: {
			mode: {
				kind: "choice",
				choices: ["on", "shadow", "off"],
				default: "on",
				description:
					"Whether reads are served from the cache (on), only measured (shadow) or left to pi (off).",
			},
			maxFileBytes: {
				kind: "whole",
				min: 0,
				max: 64 * MIB, // a repository may set it: no more than what is read and hashed in a moment
				default: 8 * MIB,
				description: "Files larger than this many bytes get pi's own output and are not hashed.",
			},
			maxDiffBytes: {
				kind: "whole",
				min: 0,
				max: 16 * MIB,
				default: 2 * MIB,
				description: "Files larger than this many bytes are never served as a diff.",
			},
			maxDiffLines: {
				kind: "whole",
				min: 0,
				max: 200_000,
				default: 12_000,
				description: "Files with more lines than this are never served as a diff.",
			},
			maxDiffRatio: {
				kind: "number",
				min: 0,
				max: 1,
				default: 0.9,
				description: "A diff larger than this share of the full output is not served.",
			},
			maxDiffChain: {
				kind: "whole",
				min: 0,
				max: 10,
				default: 3,
				description: "How many diffs may follow one another before a file is sent in full again.",
			},
			exclude: {
				kind: "list",
				projectMerge: "append",
				default: SENSITIVE_FILES,
				description: "Glob patterns of files that are never cached; a leading ! has no meaning.",
			},
			storeDir: {
				kind: "string",
				userOnly: true,
				default: "",
				description:
					"Folder of the stored file versions; empty means .pi/readcache at the git root, or in the working folder.",
			},
			storeMaxBytes: {
				kind: "whole",
				userOnly: true,
				min: 0,
				default: 256 * MIB,
				description: "The store drops its oldest file versions above this many bytes.",
			},
			storeMaxAgeDays: {
				kind: "whole",
				userOnly: true,
				min: 0,
				default: 30,
				description: "The store drops file versions unused for this many days.",
			},
		},
	},
	paging: {
		description: "Web pages, PDFs and files are read in chunks.",
		settings: {
			enabled: {
				kind: "boolean",
				default: true,
				description: "Whether read takes web addresses, file: addresses and PDFs.",
			},
			ttlMinutes: {
				kind: "number",
				min: 0,
				max: 1440,
				default: 5,
				description:
					"How long a resource is used without asking again; continuing to read prolongs it.",
			},
			maxEntries: {
				kind: "whole",
				min: 0,
				max: 10_000,
				default: 50,
				description: "How many resources are kept at most.",
			},
			maxCacheBytes: {
				kind: "whole",
				min: 0,
				max: 1024 * MIB,
				default: 20_000_000,
				description: "How much memory they may take together.",
			},
			maxWebBytes: {
				kind: "whole",
				min: 1,
				max: 256 * MIB,
				default: 10_000_000,
				description: "Largest web page or text, unpacked.",
			},
			maxPdfBytes: {
				kind: "whole",
				min: 1,
				max: 512 * MIB,
				default: 50_000_000,
				description: "Largest PDF.",
			},
			timeoutSeconds: {
				kind: "number",
				min: 1,
				max: 600,
				default: 30,
				description: "Time for a whole web request, redirects included.",
			},
			extractSeconds: {
				kind: "number",
				min: 0.1,
				max: 600,
				default: 10,
				description: "Time for converting one page before a simpler conversion is used.",
			},
			allowRanges: {
				kind: "list",
				userOnly: true,
				default: [],
				description:
					"Network ranges (CIDR, such as 192.168.1.0/24) that may be reached although they are not public.",
			},
			useProxy: {
				kind: "boolean",
				userOnly: true,
				default: false,
				description:
					"Use HTTP_PROXY and HTTPS_PROXY; the addresses behind names are then not checked.",
			},
		},
	},
	kota: {
		description: "Code intelligence: the kota_* tools.",
		inKotaFile: true,
		settings: {
			enabled: {
				kind: "boolean",
				default: true,
				description: "Whether the model gets the kota_* tools, and prompts their briefings.",
			},
			toolset: {
				kind: "string",
				default: "core",
				description: "The set of tools that an external KotaDB is asked for.",
			},
			autoContext: {
				kind: "choice",
				choices: ["off", "onPaths", "always"],
				default: "off",
				description:
					"Whether task context is added to a prompt never, when it names paths, or always.",
			},
			confirmIndex: {
				kind: "boolean",
				userOnly: true,
				default: true,
				description: "Ask the user before a repository is indexed for the first time.",
			},
			maxAnswerBytes: {
				kind: "whole",
				min: 500,
				max: 50_000,
				default: 5000,
				description: "Largest answer of a kota_* tool in bytes, everything included.",
			},
			offerWhole: {
				kind: "boolean",
				userOnly: true,
				default: true,
				description:
					"Offer the user the whole answer when one had to be shortened; after a no, not again in that session.",
			},
			engine: {
				kind: "choice",
				userOnly: true,
				choices: ["embedded", "external"],
				default: "embedded",
				description: "Which index answers: the one built in, or an external KotaDB.",
			},
			timeoutSeconds: {
				kind: "number",
				userOnly: true,
				min: 1,
				max: 3600,
				default: 120,
				description: "Time for one question to an external KotaDB; indexing has ten times as much.",
			},
			command: {
				kind: "string",
				userOnly: true,
				default: "bun",
				description: "The program that starts an external KotaDB.",
			},
			args: {
				kind: "list",
				userOnly: true,
				default: ["x", "kotadb@next", "--stdio", "--toolset", "core"],
				description: "The arguments the program is started with.",
			},
		},
	},
	prune: {
		description: "Old tool output is replaced by a stub with a way back.",
		inKotaFile: true,
		settings: {
			enabled: {
				kind: "boolean",
				default: true,
				description: "Whether old tool output is pruned at all.",
			},
			keepRecentTurns: {
				kind: "whole",
				min: 0,
				default: 2,
				description: "Tool output of this many latest turns is left as it is.",
			},
			maxToolChars: {
				kind: "whole",
				min: 0,
				default: 1200,
				description: "Older tool output longer than this many characters can be pruned.",
			},
			adaptive: {
				kind: "boolean",
				default: true,
				description: "Prune more as the context window fills up.",
			},
			pinImpactSummaries: {
				kind: "boolean",
				default: true,
				description: "Keep the summaries of impact analyses out of pruning.",
			},
		},
	},
	blobs: {
		description: "Full copies of tool output that was shortened.",
		inKotaFile: true,
		settings: {
			enabled: {
				kind: "boolean",
				default: true,
				description: "Whether full copies are kept.",
			},
			scope: {
				kind: "choice",
				choices: ["all", "kota"],
				default: "all",
				description:
					"Whose old output is kept and pruned: that of all tools, or only that of the kota_* tools.",
			},
			dir: {
				kind: "string",
				userOnly: true,
				default: "~/.pi/cache/pi-kota/blobs",
				description: "Folder of the copies; a leading ~ is the home folder.",
			},
			maxBytes: {
				kind: "whole",
				userOnly: true,
				min: 0,
				default: 250 * MIB,
				description: "The oldest copies are dropped above this many bytes.",
			},
			maxAgeDays: {
				kind: "whole",
				userOnly: true,
				min: 0,
				default: 14,
				description: "Copies older than this many days are dropped.",
			},
		},
	},
	tiers: {
		description: "Working files and a symbol map that are in every request, always fresh.",
		settings: {
			enabled: {
				kind: "boolean",
				default: true,
				description: "Whether a working set can be kept at all; it is empty until /workset add.",
			},
			layout: {
				kind: "choice",
				choices: ["log", "tiers"],
				default: "log",
				description:
					"How working files are laid out: appended to the conversation and sorted when that pays, or in four cached tiers before it.",
			},
			cacheMinTokens: {
				kind: "whole",
				min: 0,
				default: 1024,
				description:
					"The fewest tokens of a cached block; 0 lets everything promote unconditionally.",
			},
			cacheBufferMultiplier: {
				kind: "number",
				min: 0,
				max: 100,
				default: 1.5,
				description: "A tier is filled to cacheMinTokens times this.",
			},
			maxTokens: {
				kind: "whole",
				min: 0,
				max: 2_000_000, // no model's window is larger
				default: 60_000,
				description:
					"The working files may have this many tokens together; further files are refused.",
			},
			maxFiles: {
				kind: "whole",
				min: 1,
				max: 10_000, // each is read before every request
				default: 200,
				description: "The working set may hold this many files.",
			},
			maxFileBytes: {
				kind: "whole",
				min: 1,
				max: 64 * MIB,
				default: 256 * 1024,
				description: "A larger file is not taken into the working set.",
			},
			map: {
				kind: "boolean",
				default: false,
				description: "Whether a map of the project's symbols stands beside the working files.",
			},
			mapTokens: {
				kind: "whole",
				min: 0,
				max: 100_000, // a repository may set it, and every request pays for it
				default: 4000,
				description: "The map may have this many tokens.",
			},
		},
	},
	economy: {
		description: "What requests cost, and why a cache missed.",
		settings: {
			missNotice: {
				kind: "choice",
				choices: ["off", "once", "on"],
				default: "once",
				description:
					"Whether to tell of requests that had to pay again for what was cached: never, the first of a session, or each.",
			},
			missThreshold: {
				kind: "whole",
				min: 0,
				default: 20_000,
				description: "Misses of fewer tokens than this are not told of.",
			},
		},
	},
} as const satisfies Record<string, SettingGroup>;

type Groups = typeof settingGroups;

/** The value of every setting, by group: `config.prune.keepRecentTurns`. */
export type Config = {
	readonly [G in keyof Groups]: {
		readonly [S in keyof Groups[G]["settings"]]: ValueOf<Groups[G]["settings"][S]>;
	};
};

type ValueOf<S> = S extends { kind: "choice"; choices: readonly (infer Choice)[] }
	? Choice
	: S extends { kind: "list" }
		? readonly string[]
		: S extends { kind: "boolean" }
			? boolean
			: S extends { kind: "string" }
				? string
				: number;

/** A setting's full name: `prune.keepRecentTurns`. */
export type SettingKey = {
	[G in keyof Groups]: `${G}.${keyof Groups[G]["settings"] & string}`;
}[keyof Groups];

/** A value that some setting can have. */
export type SettingValue = Setting["default"];

/** Every setting with its names, in the order of the table. */
export const settings: readonly NamedSetting[] = Object.entries<SettingGroup>(
	settingGroups,
).flatMap(([group, { settings }]) =>
	Object.entries(settings).map(([name, setting]) => ({
		key: `${group}.${name}` as SettingKey,
		group,
		name,
		setting,
	})),
);

/** A row of the table: the setting, its group, its name in the group, and both joined as the key. */
export interface NamedSetting {
	key: SettingKey;
	group: string;
	name: string;
	setting: Setting;
}

/** Whether a value from a file is one that the setting can have. */
export function accepts(setting: Setting, value: unknown): value is SettingValue {
	switch (setting.kind) {
		case "boolean":
			return typeof value === "boolean";
		case "whole":
			return Number.isSafeInteger(value) && isWithin(setting, value as number);
		case "number":
			return typeof value === "number" && isWithin(setting, value);
		case "string":
			return typeof value === "string";
		case "choice":
			return setting.choices.includes(value as string);
		case "list":
			return (
				Array.isArray(value) &&
				value.length <= MAX_LIST_ITEMS &&
				value.every((item) => typeof item === "string" && item.length <= MAX_ITEM_LENGTH)
			);
	}
}

/** What `accepts` asks for, to stand after "must be": `a whole number ≥ 0`. */
export function requirement(setting: Setting): string {
	switch (setting.kind) {
		case "boolean":
			return "true or false";
		case "whole":
			return `a whole number ${range(setting)}`;
		case "number":
			return `a number ${range(setting)}`;
		case "string":
			return "a string";
		case "choice":
			return `one of ${setting.choices.map((choice) => `"${choice}"`).join(", ")}`;
		case "list":
			return `a list of at most ${MAX_LIST_ITEMS} strings, each of at most ${MAX_ITEM_LENGTH} characters`;
	}
}

/** The JSON Schema (draft 2020-12) of `strata.json`, which `docs/strata.schema.json` is a copy of. */
export function configJsonSchema(): Record<string, unknown> {
	const groups = Object.entries<SettingGroup>(settingGroups).map(([name, group]) => {
		const own = Object.entries(group.settings).map(([name, setting]) => [name, schemaOf(setting)]);
		return [name, objectSchema(group.description, Object.fromEntries(own))];
	});
	// Cloned, so that a caller who changes the schema does not change the table's lists.
	return structuredClone({
		$schema: "https://json-schema.org/draft/2020-12/schema",
		title: "strata.json",
		...objectSchema("Settings of pi-strata.", {
			$schema: { type: "string", description: "Where this schema is, for editors." },
			...Object.fromEntries(groups),
		}),
	});
}

interface Bounds {
	min: number;
	max?: number;
}

function isWithin({ min, max = Number.POSITIVE_INFINITY }: Bounds, value: number): boolean {
	return value >= min && value <= max;
}

function range({ min, max }: Bounds): string {
	return max === undefined ? `≥ ${min}` : `from ${min} to ${max}`;
}

function objectSchema(description: string, properties: object): Record<string, unknown> {
	return { description, type: "object", additionalProperties: false, properties };
}

function schemaOf(setting: Setting): Record<string, unknown> {
	return {
		description: fullDescription(setting),
		...typeSchema(setting),
		default: setting.default,
	};
}

function fullDescription(setting: Setting): string {
	if (setting.userOnly) return `${setting.description} Only the user's own files can set it.`;
	if (setting.kind === "list" && setting.projectMerge)
		return `${setting.description} A project's list is added to the user's.`;
	return setting.description;
}

function typeSchema(setting: Setting): Record<string, unknown> {
	switch (setting.kind) {
		case "whole":
			return {
				type: "integer",
				minimum: setting.min,
				maximum: setting.max ?? Number.MAX_SAFE_INTEGER,
			};
		case "number":
			return { type: "number", minimum: setting.min, maximum: setting.max };
		case "choice":
			return { type: "string", enum: setting.choices };
		case "list":
			return {
				type: "array",
				maxItems: MAX_LIST_ITEMS,
				items: { type: "string", maxLength: MAX_ITEM_LENGTH },
			};
		default:
			return { type: setting.kind };
	}
}
