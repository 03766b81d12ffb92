import type { Position, UsageKind } from "../facts.ts";
import type { FileId, IndexReader } from "../index-reader.ts";
import type { Language } from "../language.ts";
import { languageOf } from "../languages.ts";
import type { UsageSite } from "./usages.ts";

/** The language of a file whose usages are places of the same name, if it is one. */
function languageByName(reader: IndexReader, file: FileId): Language | undefined {
	const language = languageOf(reader.files.get(file)?.path ?? "");
	return language?.usages === "names" ? language : undefined;
}

/** All places of a name in files of the language's family: they may mean other things of that name. */
export function usagesByName(
	reader: IndexReader,
	name: string,
	language: Language,
	definition: Pick<UsageSite, "file" | "at">,
): readonly UsageSite[] {
	const family = familyOf(language);
	const isOfFamily = (file: FileId) => {
		const other = languageByName(reader, file);
		return other !== undefined && familyOf(other) === family;
	};
	const sites: UsageSite[] = [];
	const add = (file: FileId, at: Position, kind: UsageKind) => {
		const isItself =
			file === definition.file && at[0] === definition.at[0] && at[1] === definition.at[1];
		if (!isItself) sites.push({ file, at, kind });
	};
	for (const { file, reference } of reader.accessing(name)) {
		const [step] = reference.steps ?? [];
		if (step?.at && step.name === name && isOfFamily(file)) add(file, step.at, reference.usage);
	}
	for (const { file, at } of declarationsOf(reader, name, isOfFamily)) add(file, at, "declaration");
	return sites.sort((a, b) => a.file - b.file || a.at[0] - b.at[0] || a.at[1] - b.at[1]);
}

/** Top-level declarations of the name, and repeated ones in one file: a prototype and its definition. */
function* declarationsOf(
	reader: IndexReader,
	name: string,
	isOfFamily: (file: FileId) => boolean,
): Generator<Pick<UsageSite, "file" | "at">> {
	for (const { file, binding, isMember } of reader.named(name)) {
		const declared = reader.bindings(file)[binding];
		if (declared?.kind !== "declared" || !isOfFamily(file)) continue;
		const holders = isMember ? (declared.members ?? []) : declared.partial ? [] : [declared];
		for (const one of holders) {
			if (one.name !== name) continue;
			for (const at of [one.at, ...(one.alsoAt ?? [])]) yield { file, at };
		}
	}
}

function familyOf({ name, family }: Language): string {
	return family ?? name;
}
