import { names } from "./elements.ts";
import { HtmlTokenizer } from "./html-tokenizer.ts";

/**
 * Puts late parts of a page where a script would put them. React streams such a part as a hidden element `S:n` and moves
 * it to the template `B:n`. A part without a place stays where it is.
 */
export function placeStreamedParts(html: string): string {
	if (!/\bid\s*=\s*["']?S:/.test(html)) return html;
	const { parts, places } = findParts(html);
	const moved = new Map<string, Range>();
	for (const [id, part] of parts) {
		const place = places.get(id);
		const isInside = place && place.from >= part.from && place.to <= part.to;
		if (place && !isInside) moved.set(id, part);
	}
	if (moved.size === 0) return html;
	const cuts = [...moved].flatMap(([id, part]): Cut[] => [
		{ ...part, id: undefined },
		{ ...(places.get(id) as Range), id },
	]);
	cuts.sort((a, b) => a.from - b.from);
	const written = new Set<string>();
	// A part may hold the place of another one, so a part is assembled where its place is met.
	const assemble = (from: number, to: number, out: string[], depth: number): void => {
		let at = from;
		for (let next = firstFrom(cuts, from); next < cuts.length; next++) {
			const cut = cuts[next] as Cut;
			if (cut.from >= to) break;
			if (cut.from < at) continue;
			out.push(html.slice(at, cut.from));
			at = cut.to;
			if (cut.id === undefined || written.has(cut.id) || depth > MAX_NESTED) continue;
			written.add(cut.id);
			const part = moved.get(cut.id) as Range;
			assemble(part.inner, part.innerEnd, out, depth + 1);
		}
		out.push(html.slice(at, to));
	};
	const out: string[] = [];
	assemble(0, html.length, out, 0);
	return out.join("");
}

interface Range {
	readonly from: number;
	readonly to: number;
	/** The content, without the element's own tags. */
	readonly inner: number;
	readonly innerEnd: number;
}

interface Cut extends Range {
	/** The part to write instead; without it, the range is only left out. */
	readonly id: string | undefined;
}

const MAX_NESTED = 50;
const CARRIERS = names("div span template table svg tbody tr colgroup");

function findParts(html: string) {
	const parts = new Map<string, Range>();
	const places = new Map<string, Range>();
	const open: {
		name: string;
		id: string;
		target: Map<string, Range>;
		from: number;
		inner: number;
		depth: number;
	}[] = [];
	const tokens = new HtmlTokenizer(html);
	for (let kind = tokens.next(); kind !== "end"; kind = tokens.next()) {
		const { name } = tokens;
		if (kind === "text" || !CARRIERS.has(name)) continue;
		if (kind === "open") {
			for (const one of open) if (one.name === name && !tokens.selfClosing) one.depth++;
			const id = tokens.hasAttributes ? (tokens.attribute("id") ?? "") : "";
			const target = id.startsWith("S:")
				? parts
				: name === "template" && id.startsWith("B:")
					? places
					: undefined;
			if (target && open.length < MAX_NESTED)
				open.push({
					name,
					id: id.slice(2),
					target,
					from: tokens.start,
					inner: tokens.end,
					depth: 1,
				});
			continue;
		}
		for (const one of open) if (one.name === name) one.depth--;
		while (open.at(-1)?.depth === 0) {
			const { id, target, from, inner } = open.pop() as (typeof open)[number];
			if (!target.has(id)) target.set(id, { from, inner, innerEnd: tokens.start, to: tokens.end });
		}
	}
	return { parts, places };
}

function firstFrom(cuts: readonly Cut[], from: number): number {
	let [low, high] = [0, cuts.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((cuts[middle] as Cut).from < from) low = middle + 1;
		else high = middle;
	}
	return low;
}
