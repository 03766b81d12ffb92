import "./context.css";
import { useMemo, useState } from "preact/hooks";
import type { ContextKind, ContextMoment, ContextPiece } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Chart } from "../../chart/chart.tsx";
import { formatCount, short } from "../../parts/figures.ts";
import { Fold } from "../../parts/fold.tsx";
import { Empty, Problem } from "../../parts/notices.tsx";
import type { SessionViewProps } from "../../session/open-session.ts";
import { Section } from "../section.tsx";
import { type Column, Table } from "../table.tsx";
import { KIND_NAMES, KINDS, kindColour, totalOf } from "./bar.ts";
import { PieceDialog } from "./piece-dialog.tsx";
import { PieceTable } from "./piece-table.tsx";
import { WindowNow } from "./window-now.tsx";

/** What the model sees now, piece by piece, and how that came to be. */
export function ContextView({ sessionId, changes }: SessionViewProps) {
	const { data, error, refresh } = useAnswer("get_context_view", { sessionId }, changes.value);
	const [shown, setShown] = useState<ContextPiece>();
	const history = useMemo(() => data?.history ?? [], [data]);
	return (
		<div class="view">
			{error !== undefined && <Problem text={error} onRetry={refresh} />}
			{!data && error === undefined && <Empty>Looking into the window…</Empty>}
			{data && (
				<>
					<WindowNow context={data} onShow={setShown} />
					<ContextHistory history={history} />
					<PieceTable pieces={data.pieces} onShow={setShown} />
				</>
			)}
			{shown && (
				<PieceDialog
					key={shown.id}
					sessionId={sessionId}
					piece={shown}
					onClose={() => setShown(undefined)}
				/>
			)}
		</div>
	);
}

/** How the context grew and shrank from request to request. */
function ContextHistory({ history }: { history: readonly ContextMoment[] }) {
	const [isOpen, setIsOpen] = useState(false);
	const course = useMemo(() => courseOf(history), [history]);
	const rows = useMemo(
		() =>
			course.kinds.map((kind, at) => ({
				name: KIND_NAMES[kind],
				values: course.byKind[at] ?? [],
				colour: kindColour(kind),
			})),
		[course],
	);
	return (
		<Section title="Over time">
			{course.requests.length === 0 ? (
				<p class="soft">The first request has not been answered yet.</p>
			) : (
				<>
					<Chart
						label="Tokens of each kind in every request, stacked"
						of="Request"
						shape={course.requests.length === 1 ? "columns" : "areas"}
						numbers={course.requests}
						rows={rows}
						format={short}
						height={220}
					/>
					<Fold summary="As a table" isOpen={isOpen} onToggle={setIsOpen}>
						<CourseTable course={course} />
					</Fold>
				</>
			)}
		</Section>
	);
}

/** The table shows fewer moments than the chart: people read it line by line. */
const MOST_LINES = 60;

function CourseTable({ course }: { course: ContextCourse }) {
	const { kinds, requests, atMs, byKind } = course;
	return (
		<Table
			label="Tokens of each kind by request"
			rows={requests.map((_, at) => at).slice(-MOST_LINES)}
			keyOf={(at) => at}
			columns={[
				{ title: "Request", cell: (at) => formatCount(requests[at] ?? 0), isRowHeader: true },
				{ title: "Time", cell: (at) => new Date(atMs[at] ?? 0).toLocaleTimeString() },
				...kinds.map(
					(kind, row): Column<number> => ({
						title: KIND_NAMES[kind],
						cell: (at) => short(byKind[row]?.[at] ?? 0),
						align: "right",
					}),
				),
			]}
		/>
	);
}

/** The course of a context, ready to be stacked: `byKind[i]` belongs to `kinds[i]` and has one value for each moment. */
interface ContextCourse {
	readonly kinds: readonly ContextKind[];
	/** The number of each moment's request: of many requests only some are kept. */
	readonly requests: readonly number[];
	readonly atMs: readonly number[];
	readonly byKind: readonly (readonly number[])[];
}

/** What each request held of every kind that any of them held something of. */
export function courseOf(history: readonly ContextMoment[], most = 200): ContextCourse {
	const moments = thinned(history, most);
	const kinds = KINDS.filter((kind) => moments.some(({ byKind }) => (byKind[kind] ?? 0) > 0));
	return {
		kinds,
		requests: moments.map(({ request }) => request),
		atMs: moments.map(({ atMs }) => atMs),
		byKind: kinds.map((kind) => moments.map(({ byKind }) => byKind[kind] ?? 0)),
	};
}

/**
 * At most so many moments: of each stretch of neighbours the fullest stays, since that is what filled the window. The
 * first and the last always stay.
 */
export function thinned(history: readonly ContextMoment[], most: number): readonly ContextMoment[] {
	if (history.length <= most) return history;
	const first = history[0] as ContextMoment;
	const last = history.at(-1) as ContextMoment;
	const between = history.slice(1, -1);
	const stretches = Math.max(0, most - 2);
	// Bounds by multiplying: adding up a fraction would leave the last moments out.
	const bound = (index: number) => Math.floor((index * between.length) / stretches);
	const kept = Array.from({ length: stretches }, (_, index) =>
		between.slice(bound(index), bound(index + 1)).reduce(fuller),
	);
	return [first, ...kept, last];
}

function fuller(one: ContextMoment, other: ContextMoment): ContextMoment {
	return totalOf(other) > totalOf(one) ? other : one;
}
