import type { Data } from "../../../protocol/index.ts";

export type Piece = Data<"ContextPiece">;

/** Kind, name and colour, in the order of a prompt. Kinds that are often neighbours have distinct colours. */
const KIND_TABLE = [
	["system", "System prompt", 7],
	["tools", "Tool definitions", 2],
	["map", "Code map", 3],
	["file", "Files", 6],
	["read", "Reads", 1],
	["tool", "Tool output", 4],
	["conversation", "Conversation", 5],
	["stub", "Stubs", 8],
] as const satisfies readonly (readonly [Data<"ContextKind">, string, number])[];

export const KINDS = KIND_TABLE.map(([kind]) => kind);

export const KIND_NAMES = Object.fromEntries(KIND_TABLE) as Readonly<
	Record<Data<"ContextKind">, string>
>;

export function kindColour(kind: Data<"ContextKind">): string {
	return `--series-${KIND_TABLE.find(([name]) => name === kind)?.[2] ?? 8}`;
}

export type PieceOrder = "sent" | "kind";

/** `start`, `end`: in tokens from the start of the bar. `cached`: how many leading tokens were cached. */
export type Segment = Bar["segments"][number];
export type Bar = ReturnType<typeof layoutBar>;

/**
 * The cached prefix: its tokens, and the number of pieces that it can cover; later pieces are new or changed.
 * The share of cached tokens that the provider reported is applied to our own estimate of the request.
 */
export function cachedPrefix(
	context: Pick<Data<"ContextView">, "cachedTokens" | "lastRequest" | "history">,
) {
	const { cachedTokens = 0, lastRequest, history } = context;
	if (!lastRequest || !(lastRequest.tokens > 0)) return NO_PREFIX;
	const moment = history.at(-1);
	const share = Math.min(1, cachedTokens / lastRequest.tokens);
	return { tokens: share * (moment ? totalOf(moment) : 0), pieces: lastRequest.pieces };
}

const NO_PREFIX = { tokens: 0, pieces: 0 };

export function totalOf({ byKind }: Data<"ContextMoment">): number {
	return KINDS.reduce((sum, kind) => sum + (byKind[kind] ?? 0), 0);
}

/** Lays the pieces side by side. `cached` refers to the sent order, whatever the order of the bar. */
export function layoutBar(
	pieces: readonly Piece[],
	options: { order: PieceOrder; cached?: typeof NO_PREFIX },
) {
	const { order, cached: prefix = NO_PREFIX } = options;
	let sent = 0;
	const measured = pieces.map((piece, at) => {
		const size = sizeOf(piece);
		const cached = at < prefix.pieces ? Math.min(size, Math.max(0, prefix.tokens - sent)) : 0;
		sent += size;
		return { piece, size, cached };
	});
	const ordered =
		order === "sent"
			? measured
			: KINDS.flatMap((kind) => measured.filter(({ piece }) => piece.kind === kind));
	let start = 0;
	const segments = ordered.map(({ piece, size, cached }) => {
		const segment = { piece, start, end: start + size, cached };
		start = segment.end;
		return segment;
	});
	return { segments, tokens: start };
}

export function segmentAt(bar: Bar, point: number): Segment | undefined {
	if (bar.tokens === 0 || point < 0 || point > 1) return undefined;
	const at = point * bar.tokens;
	// The right edge still belongs to the last piece.
	return (
		bar.segments.find(({ end }) => end > at) ??
		bar.segments.findLast(({ start, end }) => end > start)
	);
}

/** The index of the piece that a key moves to. Undefined for other keys. `at`: the current index, or -1. */
export function nextIndex(key: string, at: number, count: number): number | undefined {
	if (key === "Home") return 0;
	if (key === "End") return count - 1;
	const step = STEPS.get(key);
	if (step === undefined) return undefined;
	const next = at === -1 ? (step > 0 ? 0 : count - 1) : at + step;
	return Math.min(Math.max(next, 0), count - 1);
}

const STEPS: ReadonlyMap<string, number> = new Map([
	["ArrowRight", 1],
	["ArrowUp", 1],
	["ArrowLeft", -1],
	["ArrowDown", -1],
	["PageUp", 10],
	["PageDown", -10],
]);

/** A bounded number of rectangles. Tiny neighbours are merged and get the colour of their largest kind. */
export function rectanglesOf({ segments, tokens }: Bar, smallest = 1 / 400) {
	if (tokens === 0) return [];
	const drawn: ReturnType<typeof rectangleOf>[] = [];
	let tiny: Segment[] = [];
	for (const segment of segments) {
		const width = (segment.end - segment.start) / tokens;
		if (width >= smallest) {
			flush();
			drawn.push(rectangleOf([segment], tokens));
			continue;
		}
		tiny.push(segment);
		const first = tiny[0] as Segment;
		if ((segment.end - first.start) / tokens >= smallest) flush();
	}
	flush();
	return drawn;

	function flush(): void {
		if (tiny.some(({ start, end }) => end > start)) drawn.push(rectangleOf(tiny, tokens));
		tiny = [];
	}
}

/** All numbers are shares of the bar's width. The cached part begins at the rectangle's left edge. */
function rectangleOf(segments: readonly Segment[], tokens: number) {
	const byKind = new Map<Data<"ContextKind">, number>();
	for (const { piece, start, end } of segments) {
		byKind.set(piece.kind, (byKind.get(piece.kind) ?? 0) + end - start);
	}
	const [kind] = [...byKind].reduce((largest, next) => (next[1] > largest[1] ? next : largest));
	const start = segments[0]?.start ?? 0;
	const end = segments.at(-1)?.end ?? start;
	const cached = segments.reduce((sum, segment) => sum + segment.cached, 0);
	return { kind, start: start / tokens, width: (end - start) / tokens, cached: cached / tokens };
}

export type KindRow = ReturnType<typeof kindsOf>[number];

export function kindsOf(pieces: readonly Piece[]) {
	const all = pieces.reduce((sum, piece) => sum + sizeOf(piece), 0);
	return KINDS.flatMap((kind) => {
		const own = pieces.filter((piece) => piece.kind === kind);
		if (own.length === 0) return [];
		const tokens = own.reduce((sum, piece) => sum + sizeOf(piece), 0);
		const share = all === 0 ? 0 : tokens / all;
		return [{ kind, name: KIND_NAMES[kind], tokens, pieces: own.length, share }];
	});
}

function sizeOf({ tokens }: Piece): number {
	return Number.isFinite(tokens) && tokens > 0 ? tokens : 0;
}

/** The server cuts labels to this length, without an ellipsis. */
const MAX_LABEL = 120;

/** The label, with an ellipsis if the server may have cut it. Drops half a surrogate pair. */
export function labelOf({ label }: Pick<Piece, "label">): string {
	return label.length === MAX_LABEL ? `${label.replace(/[\ud800-\udbff]$/, "")}…` : label;
}
