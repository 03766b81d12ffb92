import { compareText } from "../../core/compare-text.ts";
import { TIERS } from "../../tiers/index.ts";
import { deadMessages, deadTokens, judged, type Span, slotIn, spansOf } from "./copies.ts";
import { type Cut, judgeCuts } from "./cut.ts";
import { isHot } from "./is-hot.ts";
import type { LogMoment, LogPlan, WorkingFile } from "./layout.ts";

/** What earlier requests of the session have taught. */
export interface Learned {
	/** How likely it is that a file changes from one request to the next. */
	editRate(path: string): number;
	/** The share of requests that come while the cache is warm. */
	readonly warmShare: number;
	/** Tokens of copies that die, per request. */
	readonly growthPerRequest: number;
}

/** What to do before a request. Equal values give an equal plan. */
export function planOf(moment: LogMoment, learned: Learned): LogPlan {
	const spans = spansOf(moment.copies, moment.files);
	const scene: Scene = {
		...moment,
		spans,
		slotId: slotIn(moment.copies),
		ranked: byStability(moment.files),
		// The answer to a request with a tail would think behind text that the next request does not have.
		isHot: (path) =>
			!moment.rules.bindsThinking &&
			isHot({ ...moment, ...learned, editRate: learned.editRate(path) }),
	};
	if (moment.isBound) return appended(scene, deadTokens(spans) > 0 ? "bound" : "nothing");
	if (moment.cold) return refilled(scene, 0);
	const { growthPerRequest } = learned;
	const { cut, decision } = judgeCuts(spans, { ...moment, growthPerRequest });
	const { why, threshold } = decision;
	if (!cut) return { ...appended(scene), threshold };
	const frontier = placeOf(spans[cut.at] as Span);
	if (!decision.reorganise) return { ...appended(scene, why), threshold, frontier };
	const changes = cut.refills ? refilled(scene, cut.at) : dropped(scene, cut);
	return { ...changes, why, threshold, frontier };
}

interface Scene extends LogMoment {
	readonly spans: readonly Span[];
	readonly slotId: string | undefined;
	/** The most stable first. */
	readonly ranked: readonly string[];
	isHot(path: string): boolean;
}

/** Nothing in view changes: what is not live is put behind it. */
function appended(
	{ spans, ranked, slotId, isHot }: Scene,
	why: LogPlan["why"] = "nothing",
): LogPlan {
	const live = livePaths(spans);
	const stale = ranked.filter((path) => !live.has(path));
	const tail = stale.filter(isHot);
	const lasting = stale.filter((path) => !tail.includes(path));
	const plan = { ...NO_CHANGE, why, tail, deadTokens: deadTokens(spans) };
	if (slotId !== undefined || lasting.length === 0) return { ...plan, append: lasting };
	return { ...plan, slot: { paths: lasting }, why: "first" };
}

/** Snapshots from the cut on go in which all is dead; the rest stays where it is. */
function dropped(scene: Scene, cut: Cut): LogPlan {
	const drop = deadMessages(scene.spans.slice(cut.at));
	const left = scene.spans.filter(({ entryId }) => !drop.has(entryId));
	return { ...appended({ ...scene, spans: judged(left, scene.files) }), drop: [...drop] };
}

/** Everything from a span on is gathered in the slot, by stability; nothing dead is left of it. */
function refilled(scene: Scene, from: number): LogPlan {
	const { spans, slotId, ranked, copies, files, isHot } = scene;
	const staying = judged(spans.slice(0, from), files);
	const kept = staying.filter(({ inSlot }) => inSlot).map(({ path }) => path);
	const untouched = livePaths(staying);
	const moving = ranked.filter((path) => !untouched.has(path));
	const tail = moving.filter(isHot);
	const paths = [...kept, ...moving.filter((path) => !tail.includes(path))];

	const ids = copies.map(({ entryId }) => entryId);
	const first = from === 0 ? 0 : ids.indexOf(spans[from]?.entryId as string);
	const drop = ids.slice(first).filter((entryId) => entryId !== slotId);
	const plan = { ...NO_CHANGE, tail, deadTokens: deadTokens(staying) };
	if (paths.length === 0) {
		const all = slotId === undefined ? drop : [...drop, slotId];
		return { ...plan, drop: all, why: all.length > 0 ? "cold" : "nothing" };
	}
	if (slotId === undefined) return { ...plan, drop, slot: { paths }, why: "first" };
	if (drop.length === 0 && isFilledWith(paths, scene)) return plan;
	return { ...plan, drop, slot: { entryId: slotId, paths }, why: "cold" };
}

const NO_CHANGE = {
	drop: [],
	append: [],
	why: "nothing",
	threshold: 0,
} satisfies Partial<LogPlan>;

function isFilledWith(paths: readonly string[], { spans }: Scene): boolean {
	const slot = spans.filter(({ inSlot }) => inSlot);
	return (
		slot.length === paths.length && slot.every(({ live, path }, at) => live && path === paths[at])
	);
}

function placeOf({ entryId, path, inSlot }: Span): NonNullable<LogPlan["frontier"]> {
	return inSlot ? { entryId, path } : { entryId };
}

function livePaths(spans: readonly Span[]): Set<string> {
	return new Set(spans.filter(({ live }) => live).map(({ path }) => path));
}

/** By tier, then by N, then by name, so that the files likely to change stand last. */
function byStability(files: readonly WorkingFile[]): string[] {
	return files
		.toSorted(
			(a, b) =>
				TIERS[b.tier].entryN - TIERS[a.tier].entryN || b.n - a.n || compareText(a.path, b.path),
		)
		.map(({ path }) => path);
}
