import { usageKinds } from "../../text/kinds.ts";
import type { Position, Reference, Step } from "../facts.ts";
import { ByteReader, ByteWriter, MalformedBytes } from "./bytes.ts";

/**
 * The references of a file as bytes, one section for each binding that has any. A table of the sections' lengths
 * stands first, so that those of one binding are found without decoding the others.
 */
export function packReferences(writer: ByteWriter, references: readonly Reference[]): void {
	const byBinding = Map.groupBy(references, ({ binding }) => binding);
	const sections = new ByteWriter();
	writer.number(byBinding.size);
	let last = 0;
	for (const [binding, own] of [...byBinding].sort(([one], [other]) => one - other)) {
		const start = sections.length;
		packSection(sections, own);
		writer.number(binding - last);
		writer.number(sections.length - start);
		last = binding;
	}
	writer.append(sections);
}

/** The references to one binding, in the order they were packed in. */
export function unpackReferences(bytes: Uint8Array, binding: number): Reference[] {
	const reader = new ByteReader(bytes);
	let at = 0;
	let section: { at: number; length: number } | undefined;
	let current = 0;
	for (let left = reader.count(); left > 0; left--) {
		current += reader.number();
		const length = reader.number();
		if (current === binding) section = { at, length };
		at += length;
	}
	if (!section) return [];
	const start = reader.at + section.at;
	return unpackSection(new ByteReader(bytes, start), start + section.length, binding);
}

const USAGE_BITS = 15;
const AT = 16;
const STEPS = 32;
const SIDE = 64;
const INSTANCE = 128;

/** Positions are told from the one before, which is near; a step's name is written out only the first time. */
function packSection(writer: ByteWriter, references: readonly Reference[]): void {
	const names = new Map<string, number>();
	let last: Position = [0, 0];
	const position = (at: Position) => {
		writer.signed(at[0] - last[0]);
		writer.number(at[1]);
		last = at;
	};
	for (const { at, usage, side, steps } of references) {
		writer.number(
			usageKinds.indexOf(usage) |
				(at ? AT : 0) |
				(steps ? STEPS : 0) |
				(side ? SIDE : 0) |
				(side === "instance" ? INSTANCE : 0),
		);
		if (at) position(at);
		if (!steps) continue;
		writer.number(steps.length);
		for (const step of steps) {
			const known = names.get(step.name);
			writer.number((known ?? names.size) * 4 + (step.at ? 2 : 0) + (step.called ? 1 : 0));
			if (known === undefined) {
				names.set(step.name, names.size);
				writer.string(step.name);
			}
			if (step.at) position(step.at);
		}
	}
}

/** Written with plain objects and no spreading: a name that thousands of files use is decoded in all of them. */
function unpackSection(reader: ByteReader, end: number, binding: number): Reference[] {
	const names: string[] = [];
	const references: Reference[] = [];
	let line = 0;
	const position = (): Position => {
		line += reader.signed();
		return [line, reader.number()];
	};
	const step = (): Step => {
		const head = reader.number();
		const index = Math.floor(head / 4);
		let name = names[index];
		if (name === undefined) {
			name = reader.string();
			names.push(name);
		}
		const step: Writable<Step> = { name };
		if (head & 2) step.at = position();
		if (head & 1) step.called = true;
		return step;
	};
	while (reader.at < end) {
		const flags = reader.number();
		const usage = usageKinds[flags & USAGE_BITS];
		if (!usage) throw new MalformedBytes("an unknown kind of usage");
		const reference: Writable<Reference> = { binding, usage };
		if (flags & AT) reference.at = position();
		if (flags & SIDE) reference.side = flags & INSTANCE ? "instance" : "value";
		if (flags & STEPS) {
			const steps: Step[] = [];
			for (let left = reader.count(); left > 0; left--) steps.push(step());
			reference.steps = steps;
		}
		references.push(reference);
	}
	return references;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };
