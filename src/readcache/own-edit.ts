import { type Hash, isHash } from "../core/hash.ts";
import { property } from "../core/property.ts";
import { pathCandidates } from "../session/read-path.ts";
import { type Eligibility, firstExisting, readTextFile } from "./text-file.ts";

/**
 * In `details.readcache` of the model's own `edit` or `write`. If the file differs later, it
 * changed again, and a marker or diff against an older view would mislead.
 */
export interface OwnEdit {
	v: 1;
	mode: "own_edit";
	pathKey: string;
	/** Before the edit, if the file was cacheable. */
	baseHash?: Hash;
	servedHash: Hash;
}

/** `undefined` for files that are not cacheable. */
export async function noteOwnEdit(
	input: unknown,
	cwd: string,
	eligibility: Eligibility,
): Promise<OwnEdit | undefined> {
	const found = await locate(property(input, "path"), cwd);
	const file = found && (await readTextFile(found, eligibility));
	if (!file || "why" in file) return undefined;
	return { v: 1, mode: "own_edit", pathKey: file.pathKey, servedHash: file.hash };
}

export function parseOwnEdit(details: unknown): OwnEdit | undefined {
	const note = property(details, "readcache");
	if (property(note, "v") !== 1 || property(note, "mode") !== "own_edit") return undefined;
	const pathKey = property(note, "pathKey");
	const baseHash = property(note, "baseHash");
	if (baseHash !== undefined && !isHash(baseHash)) return undefined;
	const isComplete =
		isHash(property(note, "servedHash")) && typeof pathKey === "string" && pathKey !== "";
	return isComplete ? (note as OwnEdit) : undefined;
}

async function locate(path: unknown, cwd: string) {
	if (typeof path !== "string") return undefined;
	try {
		return await firstExisting(pathCandidates(path, cwd));
	} catch {
		return undefined; // a URL that names no file: another extension's tool takes it
	}
}
