import type { SessionHolder, SessionView } from "../session/index.ts";
import { counted, grouped } from "../text/figures.ts";
import { symbolKey, TIERS, type Tier } from "../tiers/index.ts";
import { conversationTokens } from "./plan.ts";
import { MAP_NAME, viewNow, type WorkingText, type Workset } from "./workset.ts";

type Shown = SessionHolder & Pick<SessionView, "edits">;

export function worksetReport(workset: Workset, wantsMap: boolean): string {
	const { files, settings, map, noMapReason } = workset;
	const total = files.reduce((sum, { tokens }) => sum + tokens, 0);
	const rows = files.map((file) => [
		file.path,
		file.gone ? file.text : counted(file.tokens, "token"),
	]);
	return [
		`${counted(files.length, "working file")}, ${grouped(total)} of ${grouped(settings.tiers.maxTokens)} tokens`,
		...table(rows),
		...workset.leftOutTexts(),
		...(wantsMap && map ? [`The symbol map has ${counted(map.tokens, "token")}.`] : []),
		...(wantsMap && !map
			? [`No symbol map: ${noMapReason ?? "it is built with the next prompt"}`]
			: []),
	].join("\n");
}

/** A working file as `/tiers` and the server show it. */
interface WorkingFileView {
	readonly path: string;
	readonly tier: Tier;
	readonly n: number;
	readonly tokens: number;
	/** When this process last saw a change, in ms since 1970; 0 if it saw none. */
	readonly changedMs: number;
	/** Number of requests since the last change that read the file from the provider's cache. */
	readonly hits: number;
	readonly place: "slot" | "snapshot" | "tail" | "prefix";
}

type Standing = Pick<WorkingFileView, "tier" | "n">;

const NEW: Standing = { tier: "active", n: 0 };

/** Returns the most stable files first. */
function fileViews(workset: Workset, session: Shown): WorkingFileView[] {
	const { map, files, settings, fileStats } = workset;
	const tracked = workset.controller.items();
	const places = placesNow(session);
	const isLiteral = settings.tiers.layout === "tiers";
	const rowOf = ({ path, hash, tokens }: WorkingText, { tier, n }: Standing): WorkingFileView => {
		const { changedMs, hits } = fileStats.get(path) ?? { changedMs: 0, hits: 0 };
		const place = isLiteral ? "prefix" : places(path, hash);
		return { path, tier, n, tokens, changedMs, hits, place };
	};
	const rows = files.map((file) => rowOf(file, tracked.get(file.path) ?? NEW));
	// The map counts as most stable, as in the plan.
	if (map && !isLiteral) rows.push(rowOf(map, { tier: "L0", n: TIERS.L0.entryN }));
	if (isLiteral) rows.push(...mapByTier(workset, tracked));
	return rows.sort((a, b) => (a.tier < b.tier ? -1 : a.tier > b.tier ? 1 : b.n - a.n));
}

function mapByTier(
	{ map, files, fileStats }: Workset,
	tracked: ReadonlyMap<string, Standing>,
): WorkingFileView[] {
	const inFull = new Set(files.map(({ path }) => path));
	const entries = (map?.entries ?? [])
		.filter(({ path }) => !inFull.has(path))
		.map(({ path, tokens }) => ({ ...(tracked.get(symbolKey(path)) ?? NEW), tokens }));
	const { changedMs } = fileStats.get(MAP_NAME) ?? { changedMs: 0 };
	return Array.from(
		Map.groupBy(entries, ({ tier }) => tier),
		([tier, group]): WorkingFileView => ({
			path: `(symbol map: ${tier})`,
			tier,
			n: Math.min(...group.map(({ n }) => n)),
			tokens: group.reduce((sum, { tokens }) => sum + tokens, 0),
			changedMs,
			hits: 0,
			place: "prefix",
		}),
	);
}

export interface TiersView {
	readonly layout: "log" | "tiers";
	readonly files: readonly WorkingFileView[];
	/** See {@link layoutPicture}. */
	readonly picture: string;
}

export function tiersView(workset: Workset, session: Shown): TiersView {
	const files = fileViews(workset, session);
	const { layout } = workset.settings.tiers;
	return { layout, files, picture: layoutPicture(workset, session, files) };
}

export function tiersReport(workset: Workset, session: Shown, nowMs: number): string {
	const { files, picture } = tiersView(workset, session);
	if (files.length === 0) return "The working set is empty. Add files with /workset add <path>.";
	const rows = files.map(({ path, tier, n, tokens, changedMs, hits, place }) => [
		tier,
		path,
		String(tokens),
		`N=${n}`,
		changedMs > 0 ? `${age(nowMs - changedMs)} ago` : "-",
		// Hits are not counted in the literal layout.
		place === "prefix" ? "-" : `${hits} hits`,
		place,
	]);
	return [
		...table([["tier", "item", "tokens", "N", "last change", "hits", "place"], ...rows]),
		"",
		picture,
	].join("\n");
}

/** One line per part of the request. */
function layoutPicture(
	workset: Workset,
	session: Shown,
	files: readonly WorkingFileView[],
): string {
	const sum = (place: WorkingFileView["place"]) =>
		files.filter((file) => file.place === place).reduce((total, { tokens }) => total + tokens, 0);
	const names = (place: WorkingFileView["place"]) =>
		files.flatMap((file) => (file.place === place ? [file.path] : [])).join(", ");
	const all = conversationTokens(session);
	const part = (name: string, tokens: number, what: string) =>
		tokens > 0 ? [`| ${name.padEnd(13)} ${String(tokens).padStart(8)}  ${what}`] : [];
	const dead = workset.lastPlan?.deadTokens ?? 0;
	return [
		"tools, system prompt",
		...part("tiers", sum("prefix"), names("prefix")),
		...part("slot", sum("slot"), names("slot")),
		...part("conversation", Math.max(0, all - sum("slot") - sum("snapshot") - dead), ""),
		...part("snapshots", sum("snapshot"), names("snapshot")),
		...part("dead copies", dead, whyNot(workset)),
		...part("tail", sum("tail"), `${names("tail")} (not cached)`),
	].join("\n");
}

function whyNot({ lastPlan }: Workset): string {
	if (!lastPlan) return "";
	if (lastPlan.why === "bound") {
		return "kept until a compaction: the model's thinking is bound to them";
	}
	return `dropped when they reach ${Math.ceil(lastPlan.threshold)} tokens, or when the cache is cold`;
}

function placesNow(session: Shown) {
	const { copies } = viewNow(session);
	return (path: string, hash: WorkingText["hash"]): WorkingFileView["place"] => {
		const holder = copies.findLast((copy) => copy.files.some((file) => file.path === path));
		const current = holder?.files.findLast((file) => file.path === path)?.hash === hash;
		return holder && current ? holder.kind : "tail";
	};
}

function table(rows: readonly (readonly string[])[]): string[] {
	const widths = (rows[0] ?? []).map((_, column) =>
		Math.max(...rows.map((row) => row[column]?.length ?? 0)),
	);
	const padded = (cell: string, column: number) => cell.padEnd(widths[column] ?? 0);
	return rows.map((row) => row.map(padded).join("  ").trimEnd());
}

function age(ms: number): string {
	const minutes = Math.floor(ms / 60_000);
	if (minutes < 1) return `${Math.floor(ms / 1000)} s`;
	return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`;
}
