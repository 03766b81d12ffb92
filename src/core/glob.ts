/** Longer patterns never match. Whoever reads patterns from a file should refuse them with a message. */
export const maxGlobLength = 512;

/**
 * Whether a path matches one of the patterns of an exclude list. A pattern without `/` is compared with
 * the base name (`.env*`), one with `/` with the end of the path (`secrets/*.json`), one that begins with
 * `/` with the whole of it; `secrets/` stands for all below. `*` and `?` stay within a name, `**` spans
 * folders, everything else is literal. macOS and Windows ignore case.
 */
export function matchesAny(
	patterns: readonly string[],
	path: string,
	platform: NodeJS.Platform = process.platform,
): boolean {
	const names = splitPath(path, platform);
	return patterns.some((pattern) => matches(pattern, names, platform));
}

function matches(pattern: string, names: readonly string[], platform: NodeJS.Platform): boolean {
	if (pattern === "" || pattern.length > maxGlobLength) return false;
	const isFolder = withSlashes(pattern, platform).endsWith("/");
	const parts = splitPath(isFolder ? `${pattern}/**` : pattern, platform);
	if (parts.length === 1) return matchesName(parts[0] ?? "", names.at(-1) ?? "");
	return matchesSequence(["**", ...parts], names, "**", matchesName);
}

/** The names along a path; the first is empty if the path begins at the root. */
function splitPath(path: string, platform: NodeJS.Platform): string[] {
	const slashed = withSlashes(path, platform);
	const ignoresCase = platform === "win32" || platform === "darwin";
	// One accented letter can be written in two ways, and macOS returns either.
	const folded = (ignoresCase ? slashed.toLowerCase() : slashed).normalize("NFC");
	return folded.split("/").filter((name, index) => (name === "" ? index === 0 : name !== "."));
}

function withSlashes(path: string, platform: NodeJS.Platform): string {
	return platform === "win32" ? path.replaceAll("\\", "/") : path;
}

function matchesName(pattern: string, name: string): boolean {
	return matchesSequence([...pattern], [...name], "*", (wanted, character) => {
		return wanted === "?" || wanted === character;
	});
}

/**
 * Wildcard matching that goes back to the last star only. That is enough, since an earlier star could
 * take nothing the last one cannot, and it bounds the work by pattern times text however hostile they are.
 */
function matchesSequence(
	pattern: readonly string[],
	items: readonly string[],
	star: string,
	matchesOne: (wanted: string, item: string) => boolean,
): boolean {
	let wantedAt = 0;
	let itemAt = 0;
	let lastStar: { at: number; takenUpTo: number } | undefined;
	while (itemAt < items.length) {
		const wanted = pattern[wantedAt];
		if (wanted === star) {
			lastStar = { at: wantedAt, takenUpTo: itemAt };
			wantedAt++;
		} else if (wanted !== undefined && matchesOne(wanted, items[itemAt] ?? "")) {
			wantedAt++;
			itemAt++;
		} else if (lastStar !== undefined) {
			lastStar.takenUpTo++;
			wantedAt = lastStar.at + 1;
			itemAt = lastStar.takenUpTo;
		} else {
			return false;
		}
	}
	return pattern.slice(wantedAt).every((rest) => rest === star);
}
