import { PlainText } from "../parts/text.tsx";
import type { Column } from "./table.tsx";

/** The column of a table whose rows are files. */
export const FILE_COLUMN: Column<{ path: string }> = {
	title: "File",
	cell: ({ path }) => <PlainText text={path} most={300} />,
	isRowHeader: true,
	class: "wide plain",
};
