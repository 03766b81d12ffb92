import { expect, test } from "vitest";
import { asRequestError } from "../../src/acp/errors.ts";
import { ClientError } from "../../src/protocol/client.ts";
import {
	INTERRUPTED_RUNNING,
	INTERRUPTED_WAITING,
	NOT_DURABLE,
	OUTCOME_NOT_KEPT,
} from "../../src/server/engine/failures.ts";

test.each([INTERRUPTED_RUNNING, INTERRUPTED_WAITING, NOT_DURABLE, OUTCOME_NOT_KEPT])(
	"$code is said in words of an editor, where a message has no id: $error",
	({ code, error }) => {
		const shown = asRequestError(new ClientError(code, error));
		expect(shown.message).not.toMatch(/\bid\b|command/);
		expect(shown.message).toMatch(/send it again/);
		expect(shown.data).toEqual({ code, message: error });
	},
);

test("other errors keep the server's words", () => {
	const shown = asRequestError(new ClientError("wrong_state", "The session is read-only"));
	expect(shown).toMatchObject({
		message: "The session is read-only",
		data: { code: "wrong_state" },
	});
});
