import "./views.css";
import type { ComponentChildren } from "preact";
import { formatCount } from "../parts/figures.ts";
import { PlainText } from "../parts/text.tsx";

/** A column of a {@link Table}. */
export interface Column<Row> {
	title: string;
	cell(row: Row): ComponentChildren;
	/** Numbers and times stand on the right. */
	align?: "right";
	/** Its cells name their rows. */
	isRowHeader?: boolean;
	/** The title is for those only who cannot see what the cells show. */
	hidesTitle?: boolean;
	/** `roomy`: not on a phone. `wide`: breaks long words. `soft`, `plain`: how its cells look. */
	class?: string;
}

interface TableProps<Row> {
	/** What the table is about, for those who cannot see where it stands. */
	label: string;
	columns: readonly Column<NoInfer<Row>>[];
	rows: readonly Row[];
	keyOf(row: Row): string | number;
	classOf?(row: Row): string;
	/** A last row that sums up the others. */
	foot?: Row;
	/** So many rows are shown, and how many there are beyond. Default: all. */
	most?: number;
}

/** A table that scrolls by itself where the screen is narrow. */
export function Table<Row>(props: TableProps<Row>) {
	const { label, columns, rows, keyOf, classOf, foot, most = rows.length } = props;
	return (
		<>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
			<section class="table-box" aria-label={label} tabIndex={0}>
				<table>
					<thead>
						<tr>
							{columns.map((column) => (
								<th key={column.title} scope="col" class={classesOf(column)}>
									<span class={column.hidesTitle ? "hidden-text" : "column-title"}>
										{column.title}
									</span>
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{rows.slice(0, most).map((row) => (
							<tr key={keyOf(row)} class={classOf?.(row)}>
								<Cells columns={columns} row={row} />
							</tr>
						))}
					</tbody>
					{foot !== undefined && (
						<tfoot>
							<tr>
								<Cells columns={columns} row={foot} />
							</tr>
						</tfoot>
					)}
				</table>
			</section>
			{rows.length > most && <p class="soft">And {formatCount(rows.length - most)} more.</p>}
		</>
	);
}

function Cells<Row>({ columns, row }: { columns: readonly Column<Row>[]; row: Row }) {
	return columns.map((column) =>
		column.isRowHeader ? (
			<th key={column.title} scope="row" class={classesOf(column)}>
				{column.cell(row)}
			</th>
		) : (
			<td key={column.title} class={classesOf(column)}>
				{column.cell(row)}
			</td>
		),
	);
}

function classesOf({ align, class: own }: Pick<Column<never>, "align" | "class">) {
	return [align, own].filter(Boolean).join(" ") || undefined;
}

/** The column of a table whose rows are files. */
export const FILE_COLUMN: Column<{ path: string }> = {
	title: "File",
	cell: ({ path }) => <PlainText text={path} most={300} />,
	isRowHeader: true,
	class: "wide plain",
};
