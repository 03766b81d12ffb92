import { useEffect, useState } from "preact/hooks";
import type { RequestType } from "../protocol/client.ts";
import type { CommandFields, ResponseData } from "../protocol/index.ts";
import { client, connectionCount } from "./connection/connection.ts";
import { textOf } from "./error-text.ts";

export { textOf };

/** The answer to a question that is asked again whenever something changes. */
export interface Asked<Type extends RequestType> {
	/** The latest answer; the one before stays until the next is there. */
	data: ResponseData[Type] | undefined;
	/** Why there is no newer answer. */
	error: string | undefined;
	/** A question is under way. */
	isAsking: boolean;
	/** Asks once more. */
	refresh(): void;
}

/**
 * Asks the server and keeps the answer: again when the fields change, when `version` does, and after every new connection.
 * With `fields` undefined nothing is asked.
 */
export function useAnswer<Type extends RequestType>(
	type: Type,
	fields: CommandFields<Type> | undefined,
	version: unknown = 0,
): Asked<Type> {
	const [state, setState] = useState<Omit<Asked<Type>, "refresh"> & { of?: string }>({
		data: undefined,
		error: undefined,
		isAsking: fields !== undefined,
	});
	const [times, setTimes] = useState(0);
	const key = fields && JSON.stringify([type, fields]);
	useEffect(() => {
		if (!fields || key === undefined) return;
		const stop = new AbortController();
		// Another question: its predecessor's answer is none to this one.
		setState((old) => ({
			...old,
			isAsking: true,
			...(old.of !== key && { data: undefined, error: undefined }),
			of: key,
		}));
		const ask = client().request as (
			type: Type,
			fields: CommandFields<Type>,
			options: { signal: AbortSignal },
		) => Promise<{ data: ResponseData[Type] }>;
		ask(type, fields, { signal: stop.signal }).then(
			({ data }) => {
				if (stop.signal.aborted) return;
				setState({ data, error: undefined, isAsking: false, of: key });
			},
			(error: unknown) => {
				if (stop.signal.aborted) return;
				setState((old) => ({ ...old, error: textOf(error), isAsking: false }));
			},
		);
		return () => stop.abort();
	}, [key, version, times, connectionCount.value]);
	return { ...state, refresh: () => setTimes((count) => count + 1) };
}
