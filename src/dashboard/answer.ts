import { useEffect, useRef, useState } from "preact/hooks";
import type { CommandArguments, SendableCommandType } from "../protocol/client.ts";
import type { CommandFields, ResponseData } from "../protocol/index.ts";
import { client, connectionCount } from "./connection/connection.ts";
import { errorMessage } from "./parts/figures.ts";
import { createRefresher, type Refresher } from "./refresher.ts";

interface State<Type extends SendableCommandType> {
	/** The latest answer, kept until the next one arrives. */
	readonly data: ResponseData[Type] | undefined;
	readonly error: string | undefined;
	readonly isLoading: boolean;
	/** The command and fields that `data` answers, as JSON. */
	readonly key?: string;
}

const NOTHING = { data: undefined, error: undefined, isLoading: true };

/** The latest answers by command and fields, so that a view that is shown again has figures at once. */
const kept = new Map<string, unknown>();
/** The oldest are dropped. */
const MAX_KEPT = 12;

function keep(key: string, data: unknown): void {
	kept.delete(key);
	kept.set(key, data);
	const [oldest] = kept.keys();
	if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
}

/**
 * Sends a command, and sends it again when `fields`, `version` or the connection changes. Sends nothing while
 * `fields` is undefined. Returns the latest answer.
 */
export function useAnswer<Type extends SendableCommandType>(
	type: Type,
	fields: CommandFields<Type> | undefined,
	version: unknown = 0,
) {
	const key = fields && JSON.stringify([type, fields]);
	const [state, setState] = useState<State<Type>>(() =>
		key === undefined ? { ...NOTHING, isLoading: false } : knownState(key),
	);
	const [refreshes, setRefreshes] = useState(0);
	const refresher = useRef<Refresher>(undefined);
	useEffect(() => {
		if (!fields || key === undefined) return;
		setState((old) => (old.key === key ? old : knownState(key)));
		const current = createRefresher({
			fetch: (signal) =>
				client().request(type, ...([fields, { signal }] as CommandArguments<Type>)),
			onAnswer({ data }, isLast) {
				keep(key, data);
				setState({ data, error: undefined, isLoading: !isLast, key });
			},
			onError: (error, isLast) =>
				setState((old) => ({ ...old, error: errorMessage(error), isLoading: !isLast })),
		});
		refresher.current = current;
		return current.stop;
	}, [key]);
	useEffect(() => {
		if (key === undefined) return;
		setState((old) => ({ ...old, isLoading: true }));
		refresher.current?.refresh();
	}, [key, version, refreshes, connectionCount.value]);
	return { ...state, refresh: () => setRefreshes((count) => count + 1) };
}

/** What was answered last, which is shown until the next answer arrives. */
function knownState<Type extends SendableCommandType>(key: string): State<Type> {
	return { ...NOTHING, data: kept.get(key) as ResponseData[Type] | undefined, key };
}
