// How sluicectl and sluiced talk, over a stream socket of the unix domain.
//
// A request is one line, of at most CTL_LINE_MAX bytes with its newline: a form, then words, with
// blanks between them:
//
//	text WORDS      run the command, answer for people
//	json WORDS      run the command, answer as JSON on one line
//	complete TEXT   the words that may stand in the place of the last one of TEXT, one a line; after
//	                a blank at its end, the words that may follow
//	prompt          the name of this UPF, for a prompt
//
// The answer is a line "STATUS LENGTH" (decimal; STATUS is an enum ctl_status), then LENGTH bytes.
// Of a command that was not carried out they are the reason: a line of text, or of JSON,
// {"error":"reason"}. Requests may follow each other on a connection and are answered in order, one
// after the other. The server closes a connection after a line that is too long, after
// CTL_STALL_S seconds in which an answer was not read, and at once, with an answer of status
// CTL_FAILED, when CTL_CLIENTS_MAX others are open.
//
// Who may connect is told by the socket's mode: its owner and its group (configuration: cli.group).

#pragma once

#define CTL_SOCKET "/run/sluice/ctl.sock"
#define CTL_LINE_MAX 4096
#define CTL_CLIENTS_MAX 16
#define CTL_STALL_S 30
#define CTL_ROWS_MAX 1000      // rows of one page (show sessions)
#define CTL_STATUS_LINE_MAX 32 // "STATUS LENGTH\n"

#define CTL_FORM_TEXT "text"
#define CTL_FORM_JSON "json"
#define CTL_FORM_COMPLETE "complete"
#define CTL_FORM_PROMPT "prompt"

// Also the exit status of sluicectl, where 2 also means that no daemon answers.
enum ctl_status {
	CTL_OK = 0,
	CTL_FAILED = 1, // understood, but refused or failed
	CTL_USAGE = 2,  // not a command, or its words are wrong
};
