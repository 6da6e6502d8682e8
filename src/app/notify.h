// Telling the service manager how far we are (sd_notify(3)); silent where there is none.
//
// Control thread.

#pragma once

void notify_ready(void);
void notify_stopping(void);
