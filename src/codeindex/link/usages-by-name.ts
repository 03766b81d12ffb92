import type { FileId, IndexReader } from "../index-reader.ts";
import type { Language } from "../language.ts";
import { languageOf } from "../languages.ts";
import { type Sites, type UsageSite, UsageSites } from "./usages.ts";

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
): Sites {
	const family = familyOf(language);
	const isOfFamily = (file: FileId) => {
		const other = languageByName(reader, file);
		return other !== undefined && familyOf(other) === family;
	};
	const sites = new UsageSites(definition);
	for (const { file, reference } of reader.accessing(name)) {
		const [step] = reference.steps ?? [];
		if (step?.at && step.name === name && isOfFamily(file))
			sites.add(file, step.at, reference.usage);
	}
	for (const { file, at } of declarationsOf(reader, name, isOfFamily)) {
		sites.add(file, at, "declaration");
	}
	return sites;
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
