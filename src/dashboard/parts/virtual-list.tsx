import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks";

interface VirtualListProps<Row extends { key: string }> {
	rows: readonly Row[];
	render(row: Row): ComponentChildren;
	/** About how high a row is that was never drawn. */
	estimate(row: Row): number;
	/** What the list is called, for those who do not see it. */
	label: string;
	isBusy?: boolean;
	/** The beginning is of interest, not the end. */
	startsAtTop?: boolean;
	/** Somebody looks at something: whoever comes near the end is not kept there. */
	isHeld?: boolean;
	/** Gets the way to move the list from outside. */
	handle?: RefObject<ListHandle | null>;
}

/** How others move a list. */
export interface ListHandle {
	/** Brings a row into view, or a place in it: so many pixels below its upper edge. */
	reveal(key: string, below?: number): void;
	/** Goes to the end, and stays there while the list grows. */
	toEnd(): void;
	/** The key of the first row in view. */
	firstInView(): string | undefined;
	focus(): void;
}

/** How far around the view rows are drawn, in pixels. */
const AROUND = 700;
/** Closer to the end than this is at the end. */
const NEAR_END = 48;

/**
 * A list of any length that draws only what is in view. Whoever is at its end stays there when it grows; whoever reads
 * further up keeps what they read in its place, whatever happens above it.
 */
export function VirtualList<Row extends { key: string }>(props: VirtualListProps<Row>) {
	const { rows, render, estimate, label, isBusy = false, startsAtTop = false, isHeld } = props;
	const box = useRef<HTMLElement>(null);
	const inside = useRef<HTMLDivElement>(null);
	const heights = useRef(new Map<string, number>()).current;
	const [measured, remeasured] = useReducer<number, void>((count) => count + 1, 0);
	const view = useRef({ top: 0, height: 800, isAtEnd: !startsAtTop, width: 0 }).current;
	/** The row that must not move, and how far below the upper edge it is. */
	const anchor = useRef<{ key: string; below: number } | undefined>(undefined);
	/** The anchor was set by `reveal` and is not in its place yet: events of scrolling before that must not move it. */
	const isRevealing = useRef(false);
	const offsets = useMemo(
		() =>
			offsetsOf(rows.length, (index) => {
				const row = rows[index];
				return row ? (heights.get(row.key) ?? estimate(row)) : 0;
			}),
		[rows, measured],
	);
	view.top = topNow();
	const { from, to } = windowOf(offsets, { ...view, around: AROUND });
	const drawn = useRef({ from, to });
	drawn.current = { from, to };
	const latest = useRef(offsets);
	latest.current = offsets;

	if (props.handle) props.handle.current = { reveal, toEnd, firstInView, focus };
	useLayoutEffect(settle);
	useLayoutEffect(() => {
		const element = box.current;
		if (!element) return;
		const observer = new ResizeObserver(settle);
		observer.observe(element);
		if (inside.current) observer.observe(inside.current);
		return () => observer.disconnect();
	}, []);

	return (
		<div class="list-frame">
			<section
				ref={box}
				class="list"
				aria-label={label}
				// biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
				tabIndex={0}
				onScroll={onScroll}
				onClickCapture={onClick}
			>
				<div ref={inside} role="feed" aria-busy={isBusy} aria-label={label}>
					<div style={{ height: `${offsets[from] ?? 0}px` }} />
					{rows.slice(from, to).map((row, index) => (
						<article
							key={row.key}
							data-key={row.key}
							class="list-row"
							aria-posinset={from + index + 1}
							aria-setsize={rows.length}
						>
							{render(row)}
						</article>
					))}
					<div style={{ height: `${(offsets[rows.length] ?? 0) - (offsets[to] ?? 0)}px` }} />
				</div>
			</section>
			{!view.isAtEnd && !startsAtTop && (
				<button type="button" class="to-end" onClick={leap}>
					Jump to the latest <span aria-hidden="true">↓</span>
				</button>
			)}
		</div>
	);

	/** Where the view begins by what is known of heights now: what was measured since may have moved all of it. */
	function topNow(): number {
		if (view.isAtEnd) return Math.max(0, (offsets[rows.length] ?? 0) - view.height);
		const kept = anchor.current;
		const index = kept ? rows.findIndex(({ key }) => key === kept.key) : -1;
		return kept && index !== -1 ? (offsets[index] ?? 0) - kept.below : view.top;
	}

	/** After drawing: measures what was drawn, puts the anchor back in its place, and draws again if that is not enough. */
	function settle(): void {
		const element = box.current;
		if (!element || !inside.current) return;
		if (view.width !== 0 && view.width !== element.clientWidth) heights.clear();
		view.width = element.clientWidth;
		view.height = element.clientHeight;
		let isNew = false;
		for (const row of drawnRows()) {
			const key = row.dataset.key ?? "";
			const height = row.offsetHeight;
			if (heights.get(key) === height) continue;
			heights.set(key, height);
			isNew = true;
		}
		if (view.isAtEnd) {
			element.scrollTop = element.scrollHeight;
		} else if (anchor.current) {
			const { key, below } = anchor.current;
			const kept = drawnRows().find((row) => row.dataset.key === key);
			if (kept) isRevealing.current = false;
			const moved = kept ? kept.offsetTop - element.scrollTop - below : 0;
			if (Math.abs(moved) >= 1) element.scrollTop += moved;
		}
		view.top = element.scrollTop;
		if (!view.isAtEnd && !anchor.current) keepAnchor();
		if (isNew) remeasured();
	}

	function onScroll(): void {
		const element = box.current;
		if (!element) return;
		const wasAtEnd = view.isAtEnd;
		view.top = element.scrollTop;
		const isNearEnd = element.scrollHeight - view.top - element.clientHeight < NEAR_END;
		view.isAtEnd = isNearEnd && !startsAtTop && !isHeld;
		if (!isRevealing.current) keepAnchor();
		const next = windowOf(latest.current, { ...view, around: AROUND / 2 });
		const { from: first, to: last } = drawn.current;
		const isCovered = next.from >= first && next.to <= last;
		if (!isCovered || wasAtEnd !== view.isAtEnd) remeasured();
	}

	/** The first row in view stays where it is, until somebody scrolls. */
	function keepAnchor(): void {
		const top = box.current?.scrollTop ?? 0;
		const first = drawnRows().find((row) => row.offsetTop + row.offsetHeight > top);
		// After a leap nothing is drawn there yet: the next drawing keeps one.
		const isInView = first && first.offsetTop <= top + view.height;
		anchor.current = isInView
			? { key: first.dataset.key ?? "", below: first.offsetTop - top }
			: undefined;
	}

	/** Whoever unfolds something at the end wants to read it, not to be taken to its end. */
	function onClick(event: MouseEvent): void {
		const target = event.target as Element;
		const row = target.closest("[aria-expanded]")?.closest<HTMLElement>("[data-key]");
		if (!row || !box.current) return;
		view.isAtEnd = false;
		anchor.current = {
			key: row.dataset.key ?? "",
			below: row.offsetTop - box.current.scrollTop,
		};
	}

	/** The button goes away. */
	function leap(): void {
		toEnd();
		focus();
	}

	function toEnd(): void {
		view.isAtEnd = true;
		remeasured();
	}

	/** A quarter below the upper edge: what leads to it shows, too. */
	function reveal(key: string, below = 0): void {
		if (!rows.some((row) => row.key === key)) return;
		view.isAtEnd = false;
		anchor.current = { key, below: view.height / 4 - below };
		isRevealing.current = true;
		remeasured();
	}

	function firstInView(): string | undefined {
		return rows[rowAt(offsets, view.top)]?.key;
	}

	function focus(): void {
		box.current?.focus({ preventScroll: true });
	}

	function drawnRows(): HTMLElement[] {
		return [...(inside.current?.querySelectorAll<HTMLElement>(":scope > [data-key]") ?? [])];
	}
}

/** Where rows begin, by their number; one more than there are rows, the last being the height of all. */
type Offsets = Float64Array;

/** Lays rows of known or guessed heights one under the other. */
export function offsetsOf(count: number, heightAt: (index: number) => number): Offsets {
	const offsets = new Float64Array(count + 1);
	for (let index = 0; index < count; index++) {
		offsets[index + 1] = (offsets[index] ?? 0) + heightAt(index);
	}
	return offsets;
}

/** The row at a height: the last one that begins at or above it. */
export function rowAt(offsets: Offsets, top: number): number {
	let low = 0;
	let high = Math.max(0, offsets.length - 2);
	while (low < high) {
		const middle = Math.ceil((low + high) / 2);
		if ((offsets[middle] ?? 0) <= top) low = middle;
		else high = middle - 1;
	}
	return low;
}

/** No more rows than this are drawn, whatever their heights are said to be. */
export const MOST_ROWS = 150;

/** Which rows have to be drawn for what is in view and a little around it: from `from` up to, not including, `to`. */
export function windowOf(
	offsets: Offsets,
	view: { top: number; height: number; around: number },
): { from: number; to: number } {
	const count = offsets.length - 1;
	if (count <= 0) return { from: 0, to: 0 };
	const from = rowAt(offsets, view.top - view.around);
	const to = rowAt(offsets, view.top + view.height + view.around) + 1;
	return { from, to: Math.min(count, to, from + MOST_ROWS) };
}
