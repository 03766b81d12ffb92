import type { Data } from "../../protocol/index.ts";

type Placed = Pick<Data<"SessionInfo">, "server">;

/** Says for each session which server has it. Returns `undefined` if there is only one server, or none has a session. */
export function placesOf(sessions: readonly Placed[]): ((session: Placed) => string) | undefined {
	if (!sessions.some(({ server }) => server !== undefined)) return undefined;
	return ({ server }) => (server === undefined ? "parked" : hostIn(server));
}

function hostIn(address: string): string {
	return URL.canParse(address) ? new URL(address).host : address;
}
