import type { Data } from "../../../protocol/index.ts";
import { formatCount } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { Section } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";

type Server = NonNullable<Data<"ServerMetrics">["servers"]>[number];

const COLUMNS: Columns<Server> = [
	{
		title: "Address",
		cell: ({ address }) => <PlainText text={address} max={200} />,
		isRowHeader: true,
		class: "wide plain",
	},
	{ title: "State", cell: serverState },
	["Sessions", ({ sessions }) => formatCount(sessions)],
];

/** The servers of one database. */
export function Servers({ servers }: { servers: readonly Server[] }) {
	return (
		<Section title="Servers">
			<Table label="Servers" columns={COLUMNS} rows={servers} keyOf={({ address }) => address} />
		</Section>
	);
}

export function serverState({ isSelf, isLinked, takesSessions }: Server): string {
	const place = isSelf ? "this server" : isLinked ? "linked" : "not linked";
	return takesSessions ? place : `${place}, takes no sessions`;
}
