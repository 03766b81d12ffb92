import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks";

interface VirtualListProps<Row extends { key: string }> {
	readonly rows: readonly Row[];
	render(row: Row): ComponentChildren;
	/** The estimated height, in pixels, of a row that has not been drawn yet. */
	estimate(row: Row): number;
	readonly label: string;
	readonly isBusy?: boolean;
	readonly startsAtTop?: boolean;
	/** True while the reader looks at a search match: the list then does not follow its end. */
	readonly isHeld?: boolean;
	readonly handle?: RefObject<ListHandle | null>;
}

export interface ListHandle {
	/** Scrolls to a row, or to a point `below` pixels under the row's upper edge. */
	reveal(key: string, below?: number): void;
	toEnd(): void;
	firstInView(): string | undefined;
	focus(): void;
}

const OVERSCAN_PX = 700;
const NEAR_END_PX = 48;

/** Draws only the rows in view. At its end, it follows new rows; elsewhere, the first visible row stays. */
export function VirtualList<Row extends { key: string }>(props: VirtualListProps<Row>) {
	const { rows, render, estimate, label, isBusy = false, startsAtTop = false, isHeld } = props;
	const box = useRef<HTMLElement>(null);
	const inside = useRef<HTMLDivElement>(null);
	const heights = useRef(new Map<string, number>()).current;
	const [version, redraw] = useReducer<number, void>((count) => count + 1, 0);
	const view = useRef({ top: 0, height: 800, isAtEnd: !startsAtTop, width: 0 }).current;
	/** The row that must not move, and its distance below the list's upper edge, in pixels. */
	const anchor = useRef<{ key: string; below: number } | undefined>(undefined);
	/** True until the row of `reveal` is in place. Until then, scroll events must not move the anchor. */
	const isRevealing = useRef(false);
	/** The row that the reader has just unfolded, and its height before. */
	const unfolded = useRef<{ key: string; height: number } | undefined>(undefined);
	const offsets = useMemo(
		() =>
			offsetsOf(rows.length, (index) => {
				const row = rows[index];
				return row ? (heights.get(row.key) ?? estimate(row)) : 0;
			}),
		[rows, version],
	);
	view.top = topNow();
	const { from, to } = windowOf(offsets, { ...view, margin: OVERSCAN_PX });
	const drawn = useRef({ from, to, offsets });
	drawn.current = { from, to, offsets };

	if (props.handle) props.handle.current = { reveal, toEnd, firstInView, focus };
	useLayoutEffect(measure);
	useLayoutEffect(() => {
		const element = box.current;
		if (!element) return;
		const observer = new ResizeObserver(measure);
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
				// biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling must be possible by keyboard
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
				<button type="button" class="to-end" onClick={jumpToEnd}>
					Jump to latest <span aria-hidden="true">↓</span>
				</button>
			)}
		</div>
	);

	function topNow(): number {
		if (view.isAtEnd) return Math.max(0, (offsets[rows.length] ?? 0) - view.height);
		const kept = anchor.current;
		const index = kept ? rows.findIndex(({ key }) => key === kept.key) : -1;
		return kept && index !== -1 ? (offsets[index] ?? 0) - kept.below : view.top;
	}

	/** Measures the drawn rows, restores the anchor's position, and redraws if a height has changed. */
	function measure(): void {
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
			if (kept && unfolded.current?.key === key) showUnfolded(kept, element);
		}
		view.top = element.scrollTop;
		if (!view.isAtEnd && !anchor.current) updateAnchor();
		if (isNew) redraw();
	}

	/** Scrolls until the unfolded row is in view, or as much of it as fits. */
	function showUnfolded(row: HTMLElement, element: HTMLElement): void {
		if (row.offsetHeight <= (unfolded.current?.height ?? 0)) return;
		unfolded.current = undefined;
		const top = row.offsetTop - element.scrollTop;
		const over = top + row.offsetHeight - element.clientHeight;
		const shift = Math.min(over, top);
		if (shift < 1) return;
		element.scrollTop += shift;
		anchor.current = anchorAt(row);
	}

	function onScroll(): void {
		const element = box.current;
		if (!element) return;
		const wasAtEnd = view.isAtEnd;
		view.top = element.scrollTop;
		const isNearEnd = element.scrollHeight - view.top - element.clientHeight < NEAR_END_PX;
		view.isAtEnd = isNearEnd && !startsAtTop && !isHeld;
		if (!isRevealing.current) updateAnchor();
		const next = windowOf(drawn.current.offsets, { ...view, margin: OVERSCAN_PX / 2 });
		const isCovered = next.from >= drawn.current.from && next.to <= drawn.current.to;
		if (!isCovered || wasAtEnd !== view.isAtEnd) redraw();
	}

	function updateAnchor(): void {
		const top = box.current?.scrollTop ?? 0;
		const first = drawnRows().find((row) => row.offsetTop + row.offsetHeight > top);
		// After a jump no row is drawn there yet. The next `measure` sets an anchor.
		anchor.current = first && first.offsetTop <= top + view.height ? anchorAt(first) : undefined;
	}

	function anchorAt(row: HTMLElement) {
		return { key: row.dataset.key ?? "", below: row.offsetTop - (box.current?.scrollTop ?? 0) };
	}

	/** Keeps a row that the reader unfolds in place, even the last row, unless it would then be out of view. */
	function onClick(event: MouseEvent): void {
		const target = event.target as Element;
		const row = target.closest("[aria-expanded]")?.closest<HTMLElement>("[data-key]");
		if (!row) return;
		view.isAtEnd = false;
		anchor.current = anchorAt(row);
		unfolded.current = { key: row.dataset.key ?? "", height: row.offsetHeight };
	}

	/** Moves the focus to the list, because the button disappears. */
	function jumpToEnd(): void {
		toEnd();
		focus();
	}

	function toEnd(): void {
		view.isAtEnd = true;
		redraw();
	}

	/** Scrolls the row to a quarter of the list's height, so that the rows above it are visible too. */
	function reveal(key: string, below = 0): void {
		if (!rows.some((row) => row.key === key)) return;
		view.isAtEnd = false;
		anchor.current = { key, below: view.height / 4 - below };
		isRevealing.current = true;
		redraw();
	}

	function firstInView() {
		return rows[rowAt(offsets, view.top)]?.key;
	}

	function focus(): void {
		box.current?.focus({ preventScroll: true });
	}

	function drawnRows(): HTMLElement[] {
		return [...(inside.current?.querySelectorAll<HTMLElement>(":scope > [data-key]") ?? [])];
	}
}

type Offsets = Float64Array;

export function offsetsOf(count: number, heightAt: (index: number) => number): Offsets {
	const offsets = new Float64Array(count + 1);
	for (let index = 0; index < count; index++) {
		offsets[index + 1] = (offsets[index] ?? 0) + heightAt(index);
	}
	return offsets;
}

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

/** Maximum number of rows drawn at once, whatever their heights are. */
export const MAX_ROWS = 150;

export function windowOf(offsets: Offsets, view: { top: number; height: number; margin: number }) {
	const count = offsets.length - 1;
	if (count <= 0) return { from: 0, to: 0 };
	const from = rowAt(offsets, view.top - view.margin);
	const to = rowAt(offsets, view.top + view.height + view.margin) + 1;
	return { from, to: Math.min(count, to, from + MAX_ROWS) };
}
