import { useMemo, useState } from "preact/hooks";
import type { ContextPiece } from "../../../protocol/index.ts";
import { ago, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { visibleString } from "../../parts/visible-text.ts";
import { useNow } from "../section.tsx";
import {
	type Bar,
	KIND_NAMES,
	kindColour,
	labelOf,
	nextIndex,
	rectanglesOf,
	type Segment,
	segmentAt,
} from "./bar.ts";

/** Pieces as wide as they are large, above the part that was cached. The pointer or arrow keys choose one, a click or Enter opens it. */
export function PieceBar({ bar, onShow }: { bar: Bar; onShow(piece: ContextPiece): void }) {
	const [pointedId, setPointedId] = useState<string>();
	const rectangles = useMemo(() => rectanglesOf(bar), [bar]);
	const segments = useMemo(() => bar.segments.filter(({ start, end }) => end > start), [bar]);
	const at = segments.findIndex(({ piece }) => piece.id === pointedId);
	const pointed = segments[at];

	function onKeyDown(event: KeyboardEvent): void {
		const next = nextIndex(event.key, at, segments.length);
		const opens = event.key === "Enter" || event.key === " ";
		if (next === undefined && !opens) return;
		event.preventDefault();
		if (next !== undefined) setPointedId(segments[next]?.piece.id);
		else if (pointed) onShow(pointed.piece);
	}

	return (
		<div class="piece-bar">
			<div
				class="piece-bar-field"
				role="slider"
				tabIndex={0}
				aria-label="Pieces of the context; arrow keys go through them, Enter opens one"
				aria-valuemin={1}
				aria-valuemax={Math.max(1, segments.length)}
				aria-valuenow={Math.max(1, at + 1)}
				aria-valuetext={pointed ? describe(pointed) : "no piece"}
				onKeyDown={onKeyDown}
				onPointerMove={(event) => setPointedId(under(event, bar)?.piece.id)}
				onPointerLeave={() => setPointedId(undefined)}
				onClick={(event) => {
					const segment = under(event, bar);
					if (segment) onShow(segment.piece);
				}}
			>
				<svg viewBox="0 0 1000 56" preserveAspectRatio="none" aria-hidden="true">
					{rectangles.map(({ kind, start, width, cached }) => (
						<g key={start}>
							<rect
								class="piece"
								x={start * 1000}
								width={width * 1000}
								height="46"
								fill={`var(${kindColour(kind)})`}
							/>
							{cached > 0 && (
								<rect class="cached" x={start * 1000} y="50" width={cached * 1000} height="6" />
							)}
						</g>
					))}
					{pointed && (
						<rect
							class="pointed"
							x={(pointed.start / bar.tokens) * 1000}
							width={Math.max(2, ((pointed.end - pointed.start) / bar.tokens) * 1000)}
							height="46"
						/>
					)}
				</svg>
			</div>
			<Pointed segment={pointed} />
		</div>
	);
}

function Pointed({ segment }: { segment: Segment | undefined }) {
	const now = useNow();
	if (!segment) {
		return (
			<p class="pointed-line soft small">
				The line under the pieces shows what was cached. Point at a piece, or choose one below, to
				see its text.
			</p>
		);
	}
	const { piece, cached } = segment;
	return (
		<p class="pointed-line small">
			<b>{KIND_NAMES[piece.kind] ?? piece.kind}</b> <PlainText text={labelOf(piece)} most={200} />{" "}
			<span class="soft">
				{short(piece.tokens)} tokens · {ago(piece.sinceMs, now)}
				{cached > 0 && " · cached"}
			</span>
		</p>
	);
}

function under(event: { currentTarget: HTMLElement; clientX: number }, bar: Bar) {
	const { left, width } = event.currentTarget.getBoundingClientRect();
	return segmentAt(bar, (event.clientX - left) / width);
}

function describe({ piece }: Segment): string {
	return `${KIND_NAMES[piece.kind]}, ${visibleString(labelOf(piece))}, ${short(piece.tokens)} tokens`;
}
