import { ByteReader, type Bytes, ByteWriter, MalformedBytes } from "../../core/bytes.ts";
import { USAGE_KINDS } from "../../text/kinds.ts";
import type { Position, Reference, Step } from "../facts.ts";
import { bit, type Writable } from "./records.ts";

/** A table of lengths, then a section per binding: one binding can be read without decoding the others. */
export function packReferences(writer: ByteWriter, references: readonly Reference[]): void {
	const byBinding = Map.groupBy(references, ({ binding }) => binding);
	const sections = new ByteWriter();
	writer.number(byBinding.size);
	let last = 0;
	for (const [binding, own] of [...byBinding].sort(([one], [other]) => one - other)) {
		const start = sections.length;
		const reference = referenceLayout(sections, binding);
		for (const one of own) reference(one);
		writer.number(binding - last);
		writer.number(sections.length - start);
		last = binding;
	}
	writer.append(sections);
}

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
	const end = reader.at + section.at + section.length;
	reader.at += section.at;
	const reference = referenceLayout(reader, binding);
	const references: Reference[] = [];
	while (reader.at < end) references.push(reference());
	return references;
}

const USAGE_BITS = 15;
const PLACED = 16;
const STEPS = 32;
const SIDE = 64;
const ON_INSTANCE = 128;

/** Lines are stored as deltas. Avoids object spread for speed: a popular name is in thousands of files. */
function referenceLayout(io: Bytes, binding: number): (value?: Reference) => Reference {
	const names: string[] = [];
	let numbers: Map<string, number> | undefined;
	let line = 0;
	const near = (at?: Position): Position => {
		line += io.signed(at && at[0] - line);
		return [line, io.number(at?.[1])];
	};
	const nearStep = (value?: Step): Step => {
		const number = (value && numbers?.get(value.name)) ?? names.length;
		const head = io.number(number * 4 + bit(value?.at, 2) + bit(value?.called, 1));
		let name = names[Math.floor(head / 4)];
		if (name === undefined) {
			name = io.string(value?.name);
			if (value) {
				numbers ??= new Map();
				numbers.set(name, names.length);
			}
			names.push(name);
		}
		const step: Writable<Step> = { name };
		if (head & 2) step.at = near(value?.at);
		if (head & 1) step.called = true;
		return step;
	};
	return (value) => {
		const flags = io.number(value && referenceFlags(value));
		const usage = USAGE_KINDS[flags & USAGE_BITS];
		if (!usage) throw new MalformedBytes("an unknown kind of usage");
		const reference: Writable<Reference> = { binding, usage };
		if (flags & PLACED) reference.at = near(value?.at);
		if (flags & SIDE) reference.side = flags & ON_INSTANCE ? "instance" : "value";
		if (flags & STEPS) {
			const found: Step[] = [];
			const count = io.count(value?.steps?.length);
			for (let at = 0; at < count; at++) found.push(nearStep(value?.steps?.[at]));
			reference.steps = found;
		}
		return reference;
	};
}

function referenceFlags({ usage, at, steps, side }: Reference): number {
	return (
		USAGE_KINDS.indexOf(usage) |
		bit(at, PLACED) |
		bit(steps, STEPS) |
		bit(side, SIDE) |
		bit(side === "instance", ON_INSTANCE)
	);
}
