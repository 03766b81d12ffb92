import { useMemo, useState } from "preact/hooks";
import type { ContextMoment } from "../../../protocol/index.ts";
import { Chart } from "../../chart/chart.tsx";
import { short } from "../../parts/figures.ts";
import { Fold } from "../../parts/fold.tsx";
import { formatCount } from "../format.ts";
import { Section } from "../section.tsx";
import { type Column, Table } from "../table.tsx";
import { KIND_NAMES } from "./bar.ts";
import { type ContextCourse, courseOf } from "./history.ts";
import { kindColour } from "./kind-colour.ts";

/** How the context grew and shrank from request to request. */
export function ContextHistory({ history }: { history: readonly ContextMoment[] }) {
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
